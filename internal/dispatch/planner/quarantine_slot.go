package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// quarantineTime is how long an attempt keeps the quarantine slot while other
// tasks wait for it, the first time. Each time the task gives up the slot, its
// next turn is twice as long.
const quarantineTime = time.Minute

// quarantineSlot admits one attempt of the lanes in quarantine at a time, on
// the whole server. If the process dies again, that counts against the one task
// that was under way. An innocent task is settled and leaves the quarantine.
//
// Queues take turns, and so do the lanes of each queue. The lane whose turn it
// is goes before all others, and any slot of its class will do. So the other
// lanes lose no more than that slot, and no amount of routine work delays the
// lane. The alternative was a turn among the priorities. But a queue with
// nothing except lanes in quarantine has always waited longest when the slot
// becomes free, so queues with routine work would never have their turn.
//
// All limits apply: a pause, the rate, concurrency, breakers. A lane that they
// stop is not in the tree here. Release frees the slot, and the caller asks
// after each change which tasks may start. So no wake-up for the slot could be
// lost.
//
// An attempt that takes longer than quarantineTime is given up as soon as
// another lane waits. It is settled as interrupted, which uses no attempt. Its
// task stays in quarantine, behind the others. Its next turn is twice as long,
// and so on until the attempt ends by itself. Two alternatives were worse. If
// the attempt went on next to the following one, a task that kills the process
// late would also count against the task whose turn it is. If its timeout were
// shorter, it would use up attempts, and a task that is only slow would fail.
// The price is that a slow receiver is called again at each turn.
type quarantineSlot struct {
	queues waitTree[*queue] // with a lane that may start
	taken  bool             // an attempt is under way
	key    task.Key         // valid if taken: the task of the attempt
	wakeup Wakeup           // while taken: for the end of its time
	until  time.Duration    // the end of its time; 0: no attempt is under way, or it was given up

	gaveUp map[task.Key]int // how often a task's attempt was given up; kept while tasks wait
}

// first returns the lane that may start now, or nil if there is none.
func (g *quarantineSlot) first(left cost) *lane {
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
		g.queues.put(&q.quarantineNode, rank{lastPick: q.lastQuarantinePick, number: q.number}, q.bands[task.Quarantine].lanes.minCost())
	case q.quarantineNode.inTree:
		g.queues.remove(&q.quarantineNode)
	}
}

// enter gives the slot to a pick of q, which has just had its turn.
func (g *quarantineSlot) enter(q *queue) { g.taken, q.lastQuarantinePick = true, q.since }

// beginQuarantined records that the attempt that holds the quarantine slot
// starts.
func (pl *Planner) beginQuarantined(k task.Key) {
	pl.quarantine.key = k
	pl.quarantine.until = pl.monotonic + quarantineTime<<min(pl.quarantine.gaveUp[k], 16)
	pl.arm(&pl.quarantine.wakeup, 0, pl.quarantine.until)
}

// GiveUp reports, once, that the attempt in quarantine must be ended: see
// quarantineSlot.
func (pl *Planner) GiveUp() bool { return pl.quarantine.giveUp(pl.monotonic) }

// giveUp reports, once, that the time of the attempt that holds the slot is
// over and another lane waits.
func (g *quarantineSlot) giveUp(monotonic time.Duration) bool {
	if g.until == 0 || monotonic < g.until || g.queues.size == 0 {
		return false
	}
	g.until = 0
	if g.gaveUp == nil {
		g.gaveUp = map[task.Key]int{}
	}
	g.gaveUp[g.key]++
	return true
}

// wake does nothing: the caller calls GiveUp after each change.
func (g *quarantineSlot) wake(*Planner, task.Millis) {}

// endQuarantined records the end of the attempt that held the quarantine slot.
func (pl *Planner) endQuarantined() {
	if pl.quarantine.until != 0 { // it ended by itself
		delete(pl.quarantine.gaveUp, pl.quarantine.key)
	}
	if pl.quarantine.queues.size == 0 {
		clear(pl.quarantine.gaveUp) // entries of tasks that were cancelled in the meantime
	}
	pl.quarantine.taken, pl.quarantine.until = false, 0
	pl.arm(&pl.quarantine.wakeup, 0, 0)
}
