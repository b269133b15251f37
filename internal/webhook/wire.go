package webhook

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// wire is a connection that asks for the lease once more in the very call that
// writes a request's first bytes. Between the gate and that call lies a change
// of goroutines, which takes as long as others take that are ready to run: a
// process that is stopped among hundreds of attempts has some just there, and
// would send them when it goes on, long after others have made them.
type wire struct {
	net.Conn

	// next is the gate of the request that the next write begins; nil: none. The
	// gate sets it, on the goroutine of the attempt, and net/http's writer takes it.
	next atomic.Pointer[gate]

	closed atomic.Bool // by the first Close; a Write that begins later fails
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	if w.closed.Load() {
		return 0, net.ErrClosed
	}
	if g := w.next.Swap(nil); g != nil {
		if err := g.ask(); err != nil {
			g.giveUp(err) // before net/http hears of it: it would look for another connection
			return 0, err
		}
	}
	return w.Conn.Write(b)
}

// Close implements net.Conn. It does not wait until the connection is closed.
//
// The Close of package net waits for the goroutine that reads, which net/http always
// has. When too many connections are idle, net/http closes the oldest one while it
// holds the lock of its whole pool. On a busy machine that goroutine takes many
// milliseconds to run, and every attempt of every namespace waited for that lock.
func (w *wire) Close() error {
	if w.closed.Swap(true) {
		return net.ErrClosed
	}
	go w.Conn.Close()
	return nil
}

// farewell is how long a connection that is closed may take to tell its receiver.
const farewell = 100 * time.Millisecond

// SetWriteDeadline implements net.Conn. TLS alone calls it: it allows its last
// alert five seconds. A receiver that reads nothing would keep the descriptor as long.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if most := time.Now().Add(farewell); t.After(most) {
		t = most
	}
	return w.Conn.SetWriteDeadline(t)
}

// secure is TLS over a wire.
type secure struct{ *tls.Conn }

// Close implements net.Conn. It does not wait until TLS has written its last alert,
// for the reason that wire's Close has: a receiver that does not read the bytes it was
// sent decides how long that takes.
func (s secure) Close() error {
	go s.Conn.Close()
	return nil
}

// ask asks for the lease. It may be called on any goroutine.
func (g *gate) ask() error {
	if g.live == nil {
		return nil
	}
	if err := g.live(); err != nil {
		return fmt.Errorf("%w: %w", errLease, err)
	}
	return nil
}
