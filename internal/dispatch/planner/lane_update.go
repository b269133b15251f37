package planner

import "github.com/foliot/foliot/internal/task"

// pieceLanes is how many lanes an update handles while the lock is held once.
const pieceLanes = 512

// laneUpdate is work on every lane of a destination or a queue after a change
// that affects all of them. A namespace can have a hundred thousand queues that
// lead to one destination, so the work is done in pieces, and updates take
// turns.
//
// Until the update is done, a lane can have an old place in its tree. So Take
// checks a lane again before it picks a task from the lane.
type laneUpdate struct {
	lanes   func() []*lane
	at      int  // the index after the next lane; lanes are handled from the end to the start, again and again
	left    int  // how many lanes are left; zero means that the update is done
	waiting bool // it is in Planner.updates
}

// redo does the first piece of an update, or starts a running update again from
// its present place. A receiver's breaker can open and close faster than all
// its lanes can be handled. If each update started at the same end, the lanes
// at the other end would never start.
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

// piece does one piece of c.
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

// grown records a new lane at the end of the list. The new lane needs no
// update, but the count must include it because the update passes it.
func (c *laneUpdate) grown() {
	if c.left > 0 {
		c.left++
	}
}

// filled updates the lane that has moved to index at after another lane left
// the list. The update may have passed that index without handling this lane.
func (pl *Planner) filled(c *laneUpdate, at int, now task.Millis) {
	if lanes := c.lanes(); c.left > 0 && at < len(lanes) {
		pl.resizeLane(lanes[at], now)
		pl.place(lanes[at], now)
	}
}

// stale reports whether an unfinished update can still change the place of l.
func (l *lane) stale() bool { return l.destination.update.left > 0 || l.queue.update.left > 0 }
