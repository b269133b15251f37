package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/wire"
)

const (
	// stalled bounds the time in which a client takes no bytes of a reply,
	// because other requests of its namespace wait for the units of the
	// request.
	stalled = 30 * time.Second
	// replyStep is the number of bytes after which the deadline moves.
	replyStep = 32 << 10
)

// response writes one reply, and owns the units of its request and a deadline
// that moves while the client reads.
type response struct {
	http.ResponseWriter
	server  *Server
	control *http.ResponseController

	admission.Pass
	namespace string // "" until the caller is authenticated
	sender    sender // for the log

	status int       // zero means that nothing was written yet
	paced  bool      // the deadline moves with the bytes written
	end    time.Time // the end of the reply at the latest; zero means no limit
}

func (s *Server) newResponse(w http.ResponseWriter, r *http.Request) *response {
	o := &response{ResponseWriter: w, server: s, control: http.NewResponseController(w)}
	if most := writeTimeout(r); most > 0 {
		o.paced, o.end = true, time.Now().Add(most)
	}
	return o
}

func (o *response) enter(r *http.Request, namespace string, weight int64) (err error) {
	o.namespace = namespace
	o.Pass, err = o.server.gate.Enter(r.Context(), namespace, weight)
	return err
}

// strangers is the namespace of clients without a valid token, a name that no real
// one has.
const strangers = ""

func weigh(rt *route, r *http.Request) int64 {
	switch {
	case rt.weight > 0:
		return rt.weight
	case r.ContentLength < 0:
		return cmp.Or(rt.unsized, admission.Medium)
	case rt.reads():
		return admission.Read
	}
	return min(bodyUnits(r), admission.Large)
}

// bodyUnits returns the units of a change with the body of r.
func bodyUnits(r *http.Request) int64 { return admission.Small + r.ContentLength/admission.UnitBytes }

func (o *response) WriteHeader(status int) {
	if o.status == 0 || o.status < http.StatusOK { // 1xx come before the status
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *response) Write(b []byte) (written int, err error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	for {
		o.extend()
		n, err := o.ResponseWriter.Write(b[written:min(len(b), written+replyStep)])
		if written += n; err != nil || written == len(b) {
			return written, err
		}
	}
}

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

// endless removes the time limit of a reply, but the client must still read.
func (o *response) endless() { o.paced, o.end = true, time.Time{} }

// Unwrap lets http.ResponseController reach the writer's methods.
func (o *response) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// writeItems sends a page of a list: see writeArray.
func (s *Server) writeItems(w http.ResponseWriter, name string, items int, item func(i int) any, next string) error {
	return s.writeArray(w, name, items, item, "next_cursor", next)
}

// writeArray sends {"name": [items], "last": "value"} item by item, without last if
// value is "". At most one item, or a few small ones, are encoded but not sent.
func (s *Server) writeArray(w http.ResponseWriter, name string, items int, item func(i int) any, last, value string) error {
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
	if value != "" { // its characters need no escapes
		buf.WriteString(`,"` + last + `":"` + value + `"`)
	}
	buf.WriteString("}\n")
	_ = flush()
	return nil
}
