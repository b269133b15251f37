package api

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

const (
	// stalled is how long a client may take nothing of a reply: others wait for
	// what it keeps open.
	stalled = 30 * time.Second
	// replyStep is the unit of counting, in bytes.
	replyStep = 32 << 10
	// maxReplies bounds the bytes of all replies that clients have yet to take.
	maxReplies = 128 << 20
	// freeReply is the part of a reply that is not counted: no more than its connection costs.
	freeReply = 4 << 10
	// maxUnderWay bounds the requests that are under way, at about 20 KB each.
	maxUnderWay = 1 << 14
)

// response writes one reply, and knows the places of its request: a place among the
// handlers that run, bytes of memory, and a deadline that moves while the client
// takes something.
//
// Only so many handlers run at once, as goroutines that deliver tasks stand in one
// line with them. One that waits for its client or for the store gives its place
// up (pause) and takes one again (resume).
type response struct {
	http.ResponseWriter
	server  *Server
	control *http.ResponseController

	namespace string // "" until the caller is admitted
	reads     bool   // it changes nothing, so it may be refused half way
	running   bool   // it has a place
	held      int    // bytes counted in Server.replies
	counted   bool   // in Server.underWay

	status int       // 0: nothing was written yet
	paced  bool      // deadlines move with the bytes written
	end    time.Time // when all must be written; zero: whenever that is
}

// newPlaces returns the places of handlers that run.
func newPlaces() chan struct{} { return make(chan struct{}, max(8, 4*runtime.GOMAXPROCS(0))) }

// newResponse returns a response that has its place.
func (s *Server) newResponse(w http.ResponseWriter, r *http.Request) *response {
	o := &response{ResponseWriter: w, server: s, control: http.NewResponseController(w)}
	if most := writeTimeout(r); most > 0 {
		o.paced, o.end = true, time.Now().Add(most)
	}
	o.resume()
	return o
}

// finish gives everything back.
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

// account counts the request as one of namespace's.
func (o *response) account(namespace string, reads bool) error {
	o.namespace, o.reads = namespace, reads
	if o.counted = o.server.underWay.take(namespace, 1); !o.counted {
		return tooManyAtOnce("", "too many requests of this namespace are under way")
	}
	if !o.server.replies.room(namespace) {
		return tooManyAtOnce("", "the replies that this namespace has yet to take are too large together")
	}
	return nil
}

// hold makes n the bytes that are counted for the reply. A change was made by
// the time its reply is: that is sent in any case.
func (o *response) hold(n int) error {
	if n <= freeReply {
		n = 0
	}
	switch more := n - o.held; {
	case more <= 0:
		o.server.replies.give(o.namespace, -more)
	case o.reads && !o.server.replies.take(o.namespace, more):
		return tooManyAtOnce("", "the replies that this namespace has yet to take are too large together")
	case !o.reads:
		o.server.replies.add(o.namespace, more)
	}
	o.held = n
	return nil
}

// tooManyAtOnce refuses a request that may be made again soon.
func tooManyAtOnce(field, why string) error { return refuse("too_many_at_once", field, why) }

// WriteHeader implements http.ResponseWriter.
func (o *response) WriteHeader(status int) {
	if o.status == 0 || o.status < http.StatusOK { // 1xx come before the status
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. While it waits for the client the handler
// has no place.
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
		runtime.Gosched() // a step costs TLS about as much as yieldStep costs a reader
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
	_ = o.control.SetWriteDeadline(deadline) // a writer that has none needs none moved
}

// endless lets a reply take as long as it takes, while its client takes something.
func (o *response) endless() { o.paced, o.end = true, time.Time{} }

// Unwrap lets http.ResponseController reach the writer's methods.
func (o *response) Unwrap() http.ResponseWriter { return o.ResponseWriter }

type responseKey struct{}

// responseOf returns the response of a request's context, nil if there is none.
func responseOf(ctx context.Context) *response {
	o, _ := ctx.Value(responseKey{}).(*response)
	return o
}

// writeItems sends a page of a list item by item: {"name": [items], "next_cursor": next}.
// Encoded but not yet sent is one item at most, or a few small ones.
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
			if begun { // a client must not take a part for the whole
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if buf.Len() < replyStep {
			continue
		}
		if flush() != nil {
			return nil // the client went away: there is no reader of the error
		}
	}
	buf.WriteByte(']')
	if next != "" {
		quoted, _ := json.Marshal(next) // a string always has a form
		buf.WriteString(`,"next_cursor":` + string(quoted))
	}
	buf.WriteString("}\n")
	_ = flush()
	return nil
}
