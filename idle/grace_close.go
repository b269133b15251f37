package idle

import (
	"crypto/tls"
	"io"
	"time"
)

// A connection of NewConn is closed in two steps, so that those who are blocked in it learn why and can clean up: the group expires it, and
// lets it linger for a grace. Whoever closes it first, its owner or the group, counts it as closed: once.

// expirer is a connection that may linger.
type expirer interface {
	// expire ends the connection. It returns nil if it is closed, and else what closes it after the grace. That returns false if its owner
	// has closed it until then, and told the group so by closedByOwner.
	expire() (later func() bool)
}

// grace is what a connection's own readers and writers have to clean up.
const grace = time.Second

// graceClose is a connection that is closed in a certain step, if nobody has done so until then.
type graceClose struct {
	step  uint64
	close func() bool // false: somebody has
}

// graceCloses are in the order of their steps.
type graceCloses []graceClose

func (l graceCloses) due(now uint64) bool { return len(l) > 0 && l[0].step <= now }

func (l *graceCloses) push(step uint64, closes func() bool) {
	*l = append(*l, graceClose{step, closes})
}

// pop takes the first, which must be there.
func (l *graceCloses) pop() graceClose {
	first := (*l)[0]
	(*l)[0] = graceClose{}
	if *l = (*l)[1:]; len(*l) == 0 {
		*l = nil
	}
	return first
}

// closeConnLocked closes a connection that the group has forgotten, or begins to.
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
			hangUp(x) // its own Close waits up to 5 s for room for a goodbye
		case io.Closer:
			_ = x.Close()
		}
	})
}

// finishCloseLocked closes a connection whose grace is over.
func (g *Group[C]) finishCloseLocked(l graceClose) {
	var closed bool
	if g.unlocked(func() { closed = l.close() }); closed {
		g.closedLocked()
	}
}

// parted says that the owner of a connection has closed it within the grace.
func (g *Group[C]) closedByOwner() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closedLocked()
}

func (g *Group[C]) closedLocked() {
	g.closing--
	g.emptyLocked()
}
