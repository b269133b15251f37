package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// quarantineTime is how long the first attempt of a task keeps the quarantine
// slot while other tasks wait for the slot. Each time an attempt of the task is
// interrupted, its next turn is twice as long.
const quarantineTime = time.Minute

// quarantineSlot admits one attempt of the lanes in quarantine at a time, on
// the whole server. If the process dies again, its death counts against the one
// quarantined task that was under way. A task that does not kill the process is
// settled and leaves the quarantine.
//
// Queues take turns in quarantine, and so do the lanes of each queue. The lane
// whose turn it is starts before all lanes outside quarantine, and any free
// slot of its class is enough. So quarantine costs the other lanes at most one
// slot, and routine work never delays quarantine. The alternative was to give
// quarantine a turn among the priorities. But a queue that has only lanes in
// quarantine has always waited longest when the slot becomes free. So queues
// with routine work would never have their turn in quarantine.
//
// All limits apply: a pause, the rate, concurrency, breakers. A lane or queue
// that they stop is not in the trees of this slot. Release frees the slot, and
// the caller asks after each change which tasks can start. So the slot needs no
// wake-up that could be lost.
//
// An attempt that takes longer than quarantineTime is interrupted as soon as
// another lane waits. It is settled as interrupted, which uses no attempt. Its
// task stays in quarantine, behind the other tasks. Its next turn is twice as
// long, and so on until the attempt ends by itself. The price is that a slow
// receiver is called again at each turn. Two alternatives were worse. If the
// attempt kept running beside the next one, a late crash would count against
// both tasks. If its timeout were shorter, it would use up attempts, and a task
// that is only slow would fail.
type quarantineSlot struct {
	queues waitTree[*queue] // queues with a lane that can start
	taken  bool             // an attempt is under way
	key    task.Key         // the task of the attempt; valid if taken
	wakeup Wakeup           // set for the end of the attempt's time while taken
	until  time.Duration    // the end of its time; zero means that no attempt is under way, or that it was interrupted

	interrupts map[task.Key]int // how often a task's attempt was interrupted; kept while tasks wait
}

// first returns the lane that can start now, or nil if there is none.
func (g *quarantineSlot) first(left *cost) *lane {
	if g.taken || g.queues.size == 0 {
		return nil
	}
	s := g.queues.first(left)
	if s == nil {
		return nil
	}
	return s.owner.bands[task.Quarantine].lanes.first(left).owner
}

// put inserts q, moves it to its new place, or removes it.
func (g *quarantineSlot) put(q *queue, stands bool) {
	switch {
	case stands:
		g.queues.put(&q.quarantineNode, rank{lastPick: q.lastQuarantinePick, number: q.number}, *q.bands[task.Quarantine].lanes.minCost())
	case q.quarantineNode.inTree:
		g.queues.remove(&q.quarantineNode)
	}
}

// enter records that a pick of q takes the slot. q.since must already be the
// number of the pick.
func (g *quarantineSlot) enter(q *queue) { g.taken, q.lastQuarantinePick = true, q.since }

// beginQuarantined records that the attempt that holds the quarantine slot
// starts.
func (pl *Planner) beginQuarantined(k task.Key) {
	pl.quarantine.key = k
	pl.quarantine.until = pl.monotonic + quarantineTime<<min(pl.quarantine.interrupts[k], 16)
	pl.arm(&pl.quarantine.wakeup, 0, pl.quarantine.until)
}

// MustInterrupt returns true once when the attempt in quarantine must be
// interrupted: see quarantineSlot.
func (pl *Planner) MustInterrupt() bool { return pl.quarantine.mustInterrupt(pl.monotonic) }

// mustInterrupt returns true once when the time of the attempt that holds the
// slot is over and another lane waits.
func (g *quarantineSlot) mustInterrupt(monotonic time.Duration) bool {
	if g.until == 0 || monotonic < g.until || g.queues.size == 0 {
		return false
	}
	g.until = 0
	if g.interrupts == nil {
		g.interrupts = map[task.Key]int{}
	}
	g.interrupts[g.key]++
	return true
}

// wake does nothing: the caller calls MustInterrupt after each change.
func (g *quarantineSlot) wake(*Planner, task.Millis) {}

// endQuarantined records the end of the attempt that held the quarantine slot.
func (pl *Planner) endQuarantined() {
	if pl.quarantine.until != 0 { // it ended by itself
		delete(pl.quarantine.interrupts, pl.quarantine.key)
	}
	if pl.quarantine.queues.size == 0 {
		clear(pl.quarantine.interrupts) // entries of tasks that were cancelled in the meantime
	}
	pl.quarantine.taken, pl.quarantine.until = false, 0
	pl.arm(&pl.quarantine.wakeup, 0, 0)
}
