package idle

import (
	"crypto/tls"
	"io"
	"time"
)

// A connection of NewConn is closed in two steps, so that calls blocked in it
// return and the owner can clean up: the group first expires it, and closes it
// after a grace time. The first to close it, its owner or the group, counts it
// as closed, once.

// expirer is a connection that can be closed in two steps.
type expirer interface {
	// expire ends the connection. It returns nil if the connection is closed,
	// or else the function that closes it after the grace time. That function
	// returns false if the owner closed the connection first and called
	// closedByOwner.
	expire() (later func() bool)
}

// grace is the time that the owner's goroutines have to clean up.
const grace = time.Second

// graceClose is a connection to close in a certain step, unless its owner
// closed it before.
type graceClose struct {
	step  uint64
	close func() bool // false: the owner has closed it
}

// graceCloses are in the order of their steps.
type graceCloses []graceClose

func (c graceCloses) due(now uint64) bool { return len(c) > 0 && c[0].step <= now }

func (c *graceCloses) push(step uint64, closes func() bool) {
	*c = append(*c, graceClose{step, closes})
}

// pop takes the first one, which must exist.
func (c *graceCloses) pop() graceClose {
	first := (*c)[0]
	(*c)[0] = graceClose{}
	if *c = (*c)[1:]; len(*c) == 0 {
		*c = nil
	}
	return first
}

// closeConnLocked closes a connection that the group has forgotten, or begins
// to close it.
func (g *Group[C]) closeConnLocked(c C) {
	var later func() bool
	defer func() {
		if later == nil {
			g.closedLocked()
			return
		}
		g.driveLocked()
		g.graceCloses.push(g.grid.now+g.grid.steps(grace), later)
	}()
	g.unlocked(func() {
		switch x := any(c).(type) {
		case expirer:
			later = x.expire()
		case *tls.Conn:
			hangUp(x) // its Close waits up to 5 s for room for a close_notify
		case io.Closer:
			_ = x.Close()
		}
	})
}

// finishCloseLocked closes a connection after its grace time.
func (g *Group[C]) finishCloseLocked(l graceClose) {
	var closed bool
	if g.unlocked(func() { closed = l.close() }); closed {
		g.closedLocked()
	}
}

// closedByOwner is called when the owner of a connection closed it within the
// grace time.
func (g *Group[C]) closedByOwner() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closedLocked()
}

func (g *Group[C]) closedLocked() {
	g.closing--
	g.emptyLocked()
}
