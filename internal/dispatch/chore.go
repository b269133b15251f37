package dispatch

import "github.com/foliot/foliot/internal/task"

// pieceLanes is how many lanes a chore looks at while the lock is held once.
const pieceLanes = 512

// chore is work on every lane of a destination or a queue: something has changed
// for all of them. A namespace can have a hundred thousand queues that lead to one
// destination, so the work is done in pieces, and chores take turns.
//
// Until its piece is done, a lane may stand in its row as it was before. So take
// looks at it again before it picks from it, and nothing starts that must not.
type chore struct {
	lanes   func() []*lane
	left    int  // the lanes at the places below are not done
	waiting bool // it stands in agenda.chores
}

// redo does the first piece of a chore, or begins it once more.
func (a *agenda) redo(c *chore, now task.Millis) {
	c.left = len(c.lanes())
	a.piece(c, now)
	if c.left > 0 && !c.waiting {
		c.waiting = true
		a.chores = append(a.chores, c)
	}
}

// work does the next piece of the chores that are left.
func (a *agenda) work(now task.Millis) {
	if len(a.chores) == 0 {
		return
	}
	c := a.chores[0]
	a.chores[0] = nil
	a.chores = a.chores[1:]
	a.piece(c, now)
	if c.waiting = c.left > 0; c.waiting {
		a.chores = append(a.chores, c)
	}
}

// piece does a piece of c. It goes from the last lane to the first: when a lane goes,
// the last one takes its place, and that one is done.
func (a *agenda) piece(c *chore, now task.Millis) {
	for n := a.pieces; n > 0 && c.left > 0; n-- {
		c.left--
		if lanes := c.lanes(); c.left < len(lanes) {
			a.fathom(lanes[c.left], now)
			a.place(lanes[c.left], now)
		}
	}
}

// stale reports whether a chore is left that may change where l stands.
func (l *lane) stale() bool {
	return l.inTarget < l.target.chore.left || l.inQueue < l.queue.chore.left
}
