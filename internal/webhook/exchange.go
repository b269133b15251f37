package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// exchange is the request and the reply of one attempt.
type exchange struct {
	task.Delivery
	ctx      context.Context // the attempt is given up when it ends
	deadline time.Time       // and at this time
	trace    string          // the traceparent
	sent     time.Time       // when the request began to be written; zero means that nothing was sent
}

// errLease is wrapped by the error of an attempt that lost its lease.
var errLease = errors.New("the lease is no longer held")

// run makes the attempt.
func (s *Sender) run(x *exchange) task.Outcome {
	target, err := parseTarget(x.Task)
	if err != nil {
		return task.Outcome{Verdict: task.Failure, Error: err.Error()}
	}
	c, err := s.connect(x, target)
	if err != nil {
		return x.failed(err)
	}
	stop := context.AfterFunc(x.ctx, c.interrupt)
	o, kept := s.exchange(x, c, target)
	if !stop() {
		kept = false // interrupt may be under way
	}
	c.release()
	if kept {
		s.pool.put(c)
	} else {
		c.close()
	}
	return o
}

// connect returns a connection that is ready for the request.
func (s *Sender) connect(x *exchange, t target) (*conn, error) {
	key := poolKey{x.Task.Namespace, t.address, t.secure}
	for {
		if x.ctx.Err() != nil || !time.Now().Before(x.deadline) { // a kept connection would only be closed
			return nil, errClosed
		}
		c := s.pool.get(key)
		if c == nil {
			break
		}
		if c.begin(x.deadline, true) {
			return c, nil
		}
		c.close()
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	c, err := s.dialer.dial(ctx, key, s.tls)
	if err != nil {
		return nil, err
	}
	if !c.begin(x.deadline, false) {
		c.close()
		return nil, errClosed
	}
	return c, nil
}

// exchange writes the request and reads the reply, and kept reports whether the
// connection can be used again.
func (s *Sender) exchange(x *exchange, c *conn, t target) (o task.Outcome, kept bool) {
	request, err := s.appendRequest(c.request[:0], x, t, time.Now())
	if err != nil {
		return task.Outcome{Verdict: task.Failure, Error: err.Error()}, false
	}
	c.request = request
	if err := s.permitted(x, c); err != nil {
		return x.failed(err), false
	}
	x.sent = time.Now()
	c.send(x.Task.Request.Body)
	reply, err := c.readHeader(x.Task.Request.Method)
	if err != nil {
		if failed := c.finish(0); failed != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			err = failed
		}
		return x.failed(err), false
	}
	o = judge(reply, x.sent)
	o.Status = reply.StatusCode
	if reply.StatusCode == http.StatusSwitchingProtocols { // the "body" of this reply is another protocol
		_ = c.finish(0)
		return o, false
	}
	o.Reply, kept = readReply(reply.Body, reply.ContentLength)
	c.keep = keepFor(reply.Header)
	kept = kept && !reply.Close && !t.once && c.keep > 0 && c.reader.Buffered() == 0
	if !kept {
		_ = c.finish(0)
		return o, false
	}
	return o, c.finish(writeWait) == nil
}

// permitted returns the reason why the request must not be written, or nil,
// right before the write.
func (s *Sender) permitted(x *exchange, c *conn) error {
	// A kept connection was checked when it was dialled, but loopback may be
	// closed since.
	if err := s.dialer.guard.Verdict(c.remote()); err != nil {
		return err
	}
	if x.Live != nil {
		if err := x.Live(); err != nil {
			return fmt.Errorf("%w: %w", errLease, err)
		}
	}
	return x.ctx.Err() // last, because the check of the lease may take time
}
