package idle

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// expire implements expirer. A blocked Read or Write returns with an error, so
// that the owner can clean up, send a goodbye elsewhere, and close. If the
// owner sets a new deadline in that time and goes on reading, the close
// interrupts it.
//
// Either expire sees the calls under way, or they see that expire was called:
// they count themselves first and then check the bit, and expire does the
// reverse.
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

var longAgo = time.Unix(1, 0) // not zero, which means no deadline, and before any clock time

// kill closes the inner connection, which the group has forgotten, and returns
// false if it was closed already.
func (c *wrapped) kill() bool {
	if c.state.Or(closed)&closed != 0 {
		return false
	}
	hangUp(c.Conn)
	return true
}

// hangUp closes a connection without waiting for its peer. Close of a TLS
// connection waits up to 5 s for room for its close_notify, so hangUp closes
// the connection below it first. It does this for TLS only: a NetConn of other
// types may be shared by many streams.
func hangUp(c io.Closer) {
	if secure, ok := c.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
	}
	_ = c.Close()
}

// explain replaces the error of an operation on a connection that the group has
// closed or is about to close, except io.EOF.
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
