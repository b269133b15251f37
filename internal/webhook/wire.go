package webhook

import (
	"fmt"
	"net"
	"sync/atomic"
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
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	if g := w.next.Swap(nil); g != nil {
		if err := g.ask(); err != nil {
			g.giveUp(err) // before net/http hears of it: it would look for another connection
			return 0, err
		}
	}
	return w.Conn.Write(b)
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
