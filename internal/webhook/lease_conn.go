package webhook

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// leaseConn is a connection that checks the lease again in the call that writes
// the first bytes of a request. Between sendGuard and that call, another
// goroutine runs, which can take as long as other ready goroutines run.
// If a process with hundreds of attempts is stopped, some of them are at this
// point. Without the check they would send their requests when the process
// continues, long after other nodes have repeated the attempts.
type leaseConn struct {
	net.Conn

	// next is the sendGuard of the request that the next write begins, or nil.
	// sendGuard sets it, on the goroutine of the attempt, and net/http's writer
	// takes it.
	next atomic.Pointer[sendGuard]

	closed atomic.Bool // set by the first Close; a Write that begins later fails
}

// Write implements net.Conn.
func (w *leaseConn) Write(b []byte) (int, error) {
	if w.closed.Load() {
		return 0, net.ErrClosed
	}
	if g := w.next.Swap(nil); g != nil {
		if err := g.checkLease(); err != nil {
			g.giveUp(err) // before net/http gets the error: it would open another connection
			return 0, err
		}
	}
	return w.Conn.Write(b)
}

// Close implements net.Conn. It does not wait until the connection is closed.
//
// The Close of package net waits for the goroutine that reads, and net/http
// always has one. If too many connections are idle, net/http closes the oldest
// one while it holds the lock of its whole pool. On a busy machine the reading
// goroutine took many milliseconds to run, and all attempts of all namespaces
// waited for that lock.
func (w *leaseConn) Close() error {
	if w.closed.Swap(true) {
		return net.ErrClosed
	}
	go w.Conn.Close()
	return nil
}

// alertTimeout is how long TLS may take to send its last alert.
const alertTimeout = 100 * time.Millisecond

// SetWriteDeadline implements net.Conn. Only TLS calls it, with five seconds
// for its last alert. A receiver that reads nothing would keep the descriptor
// for that time.
func (w *leaseConn) SetWriteDeadline(t time.Time) error {
	if most := time.Now().Add(alertTimeout); t.After(most) {
		t = most
	}
	return w.Conn.SetWriteDeadline(t)
}

// tlsConn is TLS over a leaseConn.
type tlsConn struct{ *tls.Conn }

// Close implements net.Conn. It does not wait until TLS has written its last
// alert, for the reason in leaseConn.Close: a receiver that does not read
// decides how long that takes.
func (s tlsConn) Close() error {
	go s.Conn.Close()
	return nil
}

// checkLease returns an error if the lease is lost. It may be called on any
// goroutine.
func (g *sendGuard) checkLease() error {
	if g.live == nil {
		return nil
	}
	if err := g.live(); err != nil {
		return fmt.Errorf("%w: %w", errLease, err)
	}
	return nil
}
