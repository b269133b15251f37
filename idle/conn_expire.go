package idle

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// expire implements expirer. Who is blocked in Read or Write comes back with an error and can clean up, say goodbye to others, and
// close; who sets a new deadline in that time, and reads on, is interrupted by the close.
//
// Either expire sees those who are under way, or they see that it was called: they count first and look then, it does so the other
// way round.
func (c *wrapped) expire() (later func() bool) {
	before := c.state.Or(expired)
	if before&closed != 0 {
		return nil
	}
	underWay := before&readers != 0 || c.use.isRunning()
	if !underWay || c.Conn.SetDeadline(longAgo) != nil {
		c.kill()
		return nil
	}
	if c.state.Or(inGrace)&closed != 0 {
		return nil
	}
	return c.kill
}

var longAgo = time.Unix(1, 0) // neither zero, which is no deadline, nor after any time

// kill closes the connection below, unless that was done: then it returns false. The group has forgotten it.
func (c *wrapped) kill() bool {
	if c.state.Or(closed)&closed != 0 {
		return false
	}
	hangUp(c.Conn)
	return true
}

// hangUp closes a connection without waiting for its peer. TLS waits up to 5 s for room for its goodbye, so it finds closed what it lies
// on. Nothing else is closed from below: what a NetConn leads to may be shared by many streams.
func hangUp(c io.Closer) {
	if secure, ok := c.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
	}
	_ = c.Close()
}

// explain replaces the error of an operation on a connection that the group has closed or is about to. An end of what the peer sends
// remains one.
func (c *wrapped) explain(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) || c.state.Load()&expired == 0 {
		return err
	}
	return c.expiredError(op)
}

func (c *wrapped) expiredError(op string) error { return c.opError(op, errExpired{}) }

func (c *wrapped) opError(op string, err error) error {
	e := &net.OpError{Op: op, Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}

// errExpired is the cause of all errors after the group closed a connection.
type errExpired struct{}

func (errExpired) Error() string   { return "closed by package idle" }
func (errExpired) Timeout() bool   { return true }
func (errExpired) Temporary() bool { return false }

func (errExpired) Is(target error) bool {
	return target == os.ErrDeadlineExceeded || target == net.ErrClosed
}
