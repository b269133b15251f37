package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// chooser decides which lane starts a task next.
//
// If there is more work than capacity, the namespaces take turns, and so do the
// queues of each namespace, and the three priorities of each queue. Each gets
// its share of the attempts that start, regardless of its number of lanes and
// the size of its backlog. A queue that had no due task waits until each other
// busy queue has had one turn. A queue that a limit or a receiver has stopped
// for a long time gets one turn before the other queues, but does not save up
// turns.
//
// The priority with the smallest pass is served, as in stride scheduling. When
// a priority becomes busy, its pass is set to the pass that was served last,
// plus its stride. After each pick its pass advances by its stride again. The
// first design delayed each lower priority by ten seconds instead. With turns,
// that design started only one task of a lower priority in ten seconds, even if
// many waited. Tasks that were run by hand or are in quarantine have no such
// turns: see queue.first and quarantineSlot.
type chooser struct {
	slots      slots
	quarantine quarantineSlot
	startable  waitTree[*namespace] // namespaces that can start a task
	picks      uint64               // number of picks so far
	short      bool                 // the last call of first found ready lanes, but no slot for any of them
	slotSince  time.Duration        // when a ready lane last had a slot again
}

// stride is how far the pass of a priority advances with each of its turns. If
// all three priorities are busy, high gets 16 of 21 turns, normal 4 and low 1.
// A priority that becomes busy waits for at most that many turns of each other
// priority.
var stride = [...]int64{task.High: 1, task.Normal: 4, task.Low: 16, task.Quarantine: 0}

// first returns the lane that is served next, or nil if there is none.
func (c *chooser) first(monotonic time.Duration) *lane {
	l := c.search()
	if c.short && l != nil {
		c.slotSince = monotonic
	}
	c.short = l == nil && c.startable.size+c.quarantine.queues.size > 0
	return l
}

// search does the work of first, but does not record the result.
func (c *chooser) search() *lane {
	left := c.left()
	if l := c.quarantine.first(&left); l != nil {
		return l
	}
	n := c.startable.first(&left)
	if n == nil {
		return nil
	}
	n.owner.divide(&left)
	return n.owner.queues.first(&left).owner.first(&left)
}

// left returns how many slots each class can still use, and how many attempts
// the share of one namespace allows.
func (c *chooser) left() cost {
	left := c.slots.left()
	if left.slots[proven] == 0 || c.startable.size == 0 {
		return left
	}
	left.slots[share] = int32(c.slots.shared() / c.startable.size)
	if c.startable.size == 1 && c.startable.root.owner.queues.size == 1 {
		left.slots[share] /= 2
	}
	return left
}

// first returns the lane of q that is served next, or nil if there is none, and
// lowers left to the slots that q can use. Tasks that were run by hand go
// first.
func (q *queue) first(left *cost) *lane {
	q.narrow(left)
	if n := q.bands[task.RunNow].lanes.first(left); n != nil {
		return n.owner
	}
	var best *priorityBand
	for p := task.High; p <= task.Low; p++ {
		b := &q.bands[p]
		if b.lanes.minCost().fit(left) && (best == nil || b.pass < best.pass) {
			best = b
		}
	}
	if best == nil {
		return nil
	}
	return best.lanes.first(left).owner
}

// narrow changes left, the slots left to q, to the slots left to each of its lanes.
func (q *queue) narrow(left *cost) {
	for c, n := range q.tried {
		if class(c).doubtful() && int32(n/3) >= left.slots[c] {
			left.slots[c] = 0
		}
	}
	if int32(q.running) >= left.slots[share] {
		left.slots[share] = 0
	}
}

// cost returns the smallest cost of a queue of n. It multiplies the share part
// by the number of queues, because divide later divides the namespace's share
// by that number.
func (n *namespace) cost() cost {
	c := *n.queues.minCost()
	if c.slots[share] != never {
		c.slots[share] = int32(min(int64(c.slots[share])*int64(n.queues.size), never-1))
	}
	return c
}

// divide changes left, the slots left to n, to the slots left to each queue of
// n. n.queues must not be empty.
func (n *namespace) divide(left *cost) {
	size := int32(n.queues.size)
	left.slots[share] = (left.slots[share] + size - 1) / size
}

// rank returns the rank of a ready lane in its queue and priority.
//
// The lane that has waited longest comes first. The wait begins when its first
// task is due, or when the lane was last served, if that was later. So lanes
// with a backlog take turns, and a task that becomes due now waits for one turn
// of each such lane. In a queue with a rate only the due time counts: such a
// queue is first in, first out.
func (l *lane) rank() rank {
	since := l.earliest()
	if !l.queue.bucket.limited() {
		since = max(since, l.served)
	}
	return rank{since: int64(since), lastPick: l.lastPick, number: l.number}
}

// putLane gives l its state and its place in the tree.
func (c *chooser) putLane(l *lane, state laneState, monotonic time.Duration) {
	before := l.state
	if l.state = state; state == before && state != ready {
		return
	}
	if state == ready && before != ready {
		l.readySince = monotonic
	}
	if before == blocked && state != blocked && !l.rests {
		l.obstacleEnded = monotonic
	}
	switch is := state.busy(); {
	case is && !before.busy():
		c.countBusy(l, 1)
	case !is && before.busy():
		c.countBusy(l, -1)
	}
	need := neverFits
	if state == ready {
		need = c.slots.cost(l)
	}
	l.queue.bands[l.name.Priority].lanes.put(&l.node, l.rank(), need)
}

// countBusy counts a lane that has gained (1) or lost (-1) a task that is due.
func (c *chooser) countBusy(l *lane, by int) {
	q, n := l.queue, l.queue.namespace
	b := &q.bands[l.name.Priority]
	if b.busy += by; by > 0 && b.busy == 1 {
		b.pass = q.pass + stride[l.name.Priority]
	}
	if q.busy += by; by > 0 && q.busy == 1 {
		q.since = c.picks
	}
	if n.busy += by; by > 0 && n.busy == 1 {
		n.since = c.picks
	}
}

// putQueue gives q its place in its namespace and in quarantine, where g is its
// gate.
func (c *chooser) putQueue(q *queue, g gate) {
	if !q.hasReady() && !q.node.inTree && !q.quarantineNode.inTree {
		return
	}
	need := neverFits
	if g.hand {
		need = *q.bands[task.RunNow].lanes.minCost()
	}
	if g.routine {
		for p := task.High; p <= task.Low; p++ {
			need.lower(q.bands[p].lanes.minCost())
		}
	}
	for of, tried := range q.tried {
		if class(of).doubtful() && need.slots[of] != never {
			need.slots[of] = max(need.slots[of], int32(tried/3))
		}
	}
	if need.slots[share] != never {
		need.slots[share] = int32(q.running)
	}
	if canStart := g.routine && q.quarantined(); canStart || q.quarantineNode.inTree {
		c.quarantine.put(q, canStart)
	}
	n := q.namespace
	n.queues.put(&q.node, q.rank(), need)
	c.startable.put(&n.node, n.rank(), n.cost())
}

// start counts an attempt of l that was picked, and the turn of l.
func (c *chooser) start(l *lane, now task.Millis) {
	q, d := l.queue, l.destination
	c.slots.take(d)
	q.tried[d.class]++
	q.running++
	l.queueDestination.running++
	d.running++
	l.running++
	c.picks++
	l.served, l.lastPick = now, c.picks
	q.since, q.namespace.since = c.picks, c.picks
	if b := &q.bands[l.name.Priority]; l.name.Priority.Valid() {
		q.pass = max(q.pass, b.pass)
		b.pass = q.pass + stride[l.name.Priority]
	}
	if l.quarantined() {
		c.quarantine.taken, q.lastQuarantinePick = true, c.picks
	}
}

// end counts the end of an attempt of l. of is the class of its destination at the
// pick.
func (c *chooser) end(l *lane, of class, e Evidence) {
	c.slots.adjustAllowance(l, e)
	c.slots.give(l.destination, of)
	if l.quarantined() {
		c.quarantine.end()
	}
	l.queue.tried[of]--
	l.queue.running--
	l.queueDestination.running--
	l.destination.running--
	l.running--
}

// hasSlot reports whether there would be a slot for a task of l, which must be
// ready, if it had its turn now.
func (c *chooser) hasSlot(l *lane) bool {
	left := c.left()
	if q := l.queue; !l.quarantined() && q.node.inTree {
		q.namespace.divide(&left)
		q.narrow(&left)
	}
	return l.node.cost.fit(&left)
}

// fits reports whether there would be a slot for a task of q if q had its turn
// now.
func (c *chooser) fits(q *queue) bool {
	left := c.left()
	if q.quarantineNode.inTree && q.quarantineNode.cost.fit(&left) {
		return true
	}
	if !q.node.inTree {
		return false
	}
	q.namespace.divide(&left)
	return q.node.cost.fit(&left)
}

// waited returns how much of the time since a task of l became due must be
// attributed to obstacles: the reasons of WaitsFor, except LimitTurn and
// LimitUnsent. That part of the time ends when the Planner notices the end of
// the last obstacle, and the rest is the lateness of this node. l must have its
// turn now.
//
// A lane or queue that an obstacle stops records the end of the obstacle. But
// very many lanes can lack a slot, so the chooser records one time for all:
// when a ready lane last had a slot again. A kind at its limit and a taken
// quarantine slot count as missing slots. The time applies to each lane that
// was ready then.
func (c *chooser) waited(l *lane, late, monotonic time.Duration) time.Duration {
	since := max(l.obstacleEnded, l.queue.obstacleEnded)
	if c.slotSince > l.readySince {
		since = max(since, c.slotSince)
	}
	if since == 0 { // no obstacle since New
		return 0
	}
	return max(late-(monotonic-since), 0)
}
