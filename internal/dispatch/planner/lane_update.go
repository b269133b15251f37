package planner

import "github.com/foliot/foliot/internal/task"

// pieceLanes is how many lanes an update looks at while the lock is held once.
const pieceLanes = 512

// laneUpdate is work on every lane of a destination or a queue: something has changed
// for all of them. A namespace can have a hundred thousand queues that lead to one
// destination, so the work is done in pieces, and updates take turns.
//
// Until it is done, a lane may stand in its tree as it was before. So Take looks at it
// again before it picks from it, and nothing starts that must not.
type laneUpdate struct {
	lanes   func() []*lane
	at      int  // the lane before this place is the next; before 0 comes the last one
	left    int  // how many are to be done; 0: none
	waiting bool // it stands in Planner.updates
}

// redo does the first piece of an update, or begins it once more. It goes on where it stands.
// If a receiver opens and closes faster than all its lanes are looked at, they still have
// their turns; from the same end each time, those at the other end would never start.
func (pl *Planner) redo(c *laneUpdate, now task.Millis) {
	c.left = len(c.lanes())
	pl.piece(c, now)
	if c.left > 0 && !c.waiting {
		c.waiting = true
		pl.updates = append(pl.updates, c)
	}
}

// Work does the next piece of the updates that are left.
func (pl *Planner) Work(now task.Millis) {
	if len(pl.updates) == 0 {
		return
	}
	c := pl.updates[0]
	pl.updates[0] = nil
	pl.updates = pl.updates[1:]
	pl.piece(c, now)
	if c.waiting = c.left > 0; c.waiting {
		pl.updates = append(pl.updates, c)
	}
}

// piece does a piece of c.
func (pl *Planner) piece(c *laneUpdate, now task.Millis) {
	lanes := c.lanes()
	c.left = min(c.left, len(lanes))
	for n := pl.pieces; n > 0 && c.left > 0; n-- {
		if c.at == 0 || c.at > len(lanes) {
			c.at = len(lanes)
		}
		c.at--
		c.left--
		pl.resizeLane(lanes[c.at], now)
		pl.place(lanes[c.at], now)
	}
}

// grown notes that a lane has come, behind the others. It needs no work, but the others
// begin one place further on from the end.
func (c *laneUpdate) grown() {
	if c.left > 0 {
		c.left++
	}
}

// filled does the lane that stands at a place now, as another one has left it: the update
// may have been at the place, and not at the lane.
func (pl *Planner) filled(c *laneUpdate, at int, now task.Millis) {
	if lanes := c.lanes(); c.left > 0 && at < len(lanes) {
		pl.resizeLane(lanes[at], now)
		pl.place(lanes[at], now)
	}
}

// stale reports whether an update is left that may change where l stands.
func (l *lane) stale() bool { return l.destination.update.left > 0 || l.queue.update.left > 0 }
