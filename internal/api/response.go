package api

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

const (
	// stalled is how long a client may take no bytes of a reply. Other clients
	// wait for the memory that it occupies.
	stalled = 30 * time.Second
	// replyStep is the unit of counting, in bytes.
	replyStep = 32 << 10
	// maxReplies bounds the bytes of all replies that clients have not read yet.
	maxReplies = 128 << 20
	// freeReply is the part of a reply that is not counted: it costs no more than
	// its connection.
	freeReply = 4 << 10
	// maxUnderWay bounds the requests under way, at about 20 KB each.
	maxUnderWay = 1 << 14
)

// response writes one reply. It owns the resources of its request: a place
// among the running handlers, bytes of memory, and a deadline that moves while
// the client reads.
//
// The number of running handlers is bounded, because their goroutines compete
// with those that deliver tasks. A handler that waits for its client or for the
// store gives its place back (pause) and takes one again (resume).
type response struct {
	http.ResponseWriter
	server  *Server
	control *http.ResponseController

	namespace string // "" until the caller is authenticated
	sender    sender // for the log
	reads     bool   // it changes nothing, so it may be refused later
	running   bool   // it has a place
	held      int    // bytes counted in Server.replies
	counted   bool   // in Server.underWay

	status int       // zero means that nothing was written yet
	paced  bool      // the deadline moves with the bytes written
	end    time.Time // the end of the reply at the latest; zero means no limit
}

// newPlaces returns the places of running handlers.
func newPlaces() chan struct{} { return make(chan struct{}, max(8, 4*runtime.GOMAXPROCS(0))) }

// newResponse returns a response that has a place.
func (s *Server) newResponse(w http.ResponseWriter, r *http.Request) *response {
	o := &response{ResponseWriter: w, server: s, control: http.NewResponseController(w)}
	if most := writeTimeout(r); most > 0 {
		o.paced, o.end = true, time.Now().Add(most)
	}
	o.resume()
	return o
}

// finish releases all resources of the request.
func (o *response) finish() {
	o.pause()
	if o.held != 0 {
		o.server.replies.give(o.namespace, o.held)
		o.held = 0
	}
	if o.counted {
		o.server.underWay.give(o.namespace, 1)
		o.counted = false
	}
}

func (o *response) pause() {
	if o.running {
		o.running = false
		<-o.server.places
	}
}

func (o *response) resume() {
	if !o.running {
		o.server.places <- struct{}{}
		o.running = true
	}
}

// account counts the request for namespace.
func (o *response) account(namespace string, reads bool) error {
	o.namespace, o.reads = namespace, reads
	if o.counted = o.server.underWay.take(namespace, 1); !o.counted {
		return tooManyAtOnce("", "too many requests of this namespace are running: retry later")
	}
	if !o.server.replies.room(namespace) {
		return tooManyAtOnce("", "the unread replies of this namespace are too large together: read the replies, then retry")
	}
	return nil
}

// hold counts n bytes for the reply in place of the earlier number. The reply
// to a change is never refused, because the change was already made.
func (o *response) hold(n int) error {
	if n <= freeReply {
		n = 0
	}
	switch more := n - o.held; {
	case more <= 0:
		o.server.replies.give(o.namespace, -more)
	case o.reads && !o.server.replies.take(o.namespace, more):
		return tooManyAtOnce("", "the unread replies of this namespace are too large together: read the replies, then retry")
	case !o.reads:
		o.server.replies.add(o.namespace, more)
	}
	o.held = n
	return nil
}

// tooManyAtOnce refuses a request that the client may repeat soon.
func tooManyAtOnce(field, why string) error { return refuse("too_many_at_once", field, why) }

// WriteHeader implements http.ResponseWriter.
func (o *response) WriteHeader(status int) {
	if o.status == 0 || o.status < http.StatusOK { // 1xx come before the status
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The handler has no place while it waits
// for the client.
func (o *response) Write(b []byte) (written int, err error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	if o.running {
		o.pause()
		defer o.resume()
	}
	for {
		part := b[written:min(len(b), written+replyStep)]
		o.extend()
		n, err := o.ResponseWriter.Write(part)
		if written += n; err != nil || written == len(b) {
			return written, err
		}
		runtime.Gosched() // TLS needs about as long for a step as a reader for decode.YieldStep
	}
}

// extend moves the deadline for the next write.
func (o *response) extend() {
	if !o.paced {
		return
	}
	deadline := time.Now().Add(stalled)
	if !o.end.IsZero() && o.end.Before(deadline) {
		deadline = o.end
	}
	_ = o.control.SetWriteDeadline(deadline) // some writers have no deadline
}

// endless removes the time limit of a reply. The client must still read.
func (o *response) endless() { o.paced, o.end = true, time.Time{} }

// Unwrap lets http.ResponseController reach the writer's methods.
func (o *response) Unwrap() http.ResponseWriter { return o.ResponseWriter }

type responseKey struct{}

// responseOf returns the response of a request's context, nil if there is none.
func responseOf(ctx context.Context) *response {
	o, _ := ctx.Value(responseKey{}).(*response)
	return o
}

// writeItems sends a page of a list item by item: {"name": [items]}, with
// next_cursor unless next is "". At most one item, or a few small ones, are encoded
// but not sent.
func (s *Server) writeItems(w http.ResponseWriter, name string, items int, item func(i int) any, next string) error {
	buf := s.buffer()
	defer s.release(buf)
	begun := false
	flush := func() error {
		if !begun {
			w.Header().Set("Content-Type", jsonType)
			w.WriteHeader(http.StatusOK)
			begun = true
		}
		_, err := w.Write(buf.Bytes())
		buf.Reset()
		return err
	}
	buf.WriteString(`{"` + name + `":[`)
	for i := range items {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := wire.Encode(buf, item(i)); err != nil {
			if begun { // the client must not take a part for the whole
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if buf.Len() < replyStep {
			continue
		}
		if flush() != nil {
			return nil // no reply is possible if the client is gone
		}
	}
	buf.WriteByte(']')
	if next != "" { // its characters need no escapes
		buf.WriteString(`,"next_cursor":"` + next + `"`)
	}
	buf.WriteString("}\n")
	_ = flush()
	return nil
}
