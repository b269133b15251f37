package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// quarantineTime is how long an attempt keeps the quarantine slot while others wait
// for it, the first time. Each time that it has to give up, its next turn is twice as
// long.
const quarantineTime = time.Minute

// quarantineSlot lets the lanes in quarantine start one attempt at a time, on the
// whole server. If the process dies again, that counts against the one task that was
// under way. A task that is innocent is settled, and leaves the quarantine.
//
// Queues take turns, and so do the lanes of each. The lane whose turn it is goes
// before everything else, and any slot of its class will do: others lose no more than
// that slot, and no amount of routine work keeps the lane waiting. A turn among the
// priorities was the other choice. But if other queues have nothing but lanes in
// quarantine, these have waited longest whenever the slot becomes free, and a queue
// with routine work would never have its turn.
//
// Limits hold as ever: a pause, the rate, concurrency, breakers. What they stop does
// not wait here. Release frees the slot, and the caller asks after each change what may
// start: there is no wake-up of its own that could be lost.
//
// An attempt that takes longer than quarantineTime is given up as soon as others wait.
// It is settled as interrupted, which spends no attempt. It stays in quarantine, behind
// the others, and its next turn is twice as long, until it ends by itself. Two other
// choices were worse. If it went on beside the next one, a task that kills the process
// late would kill those whose turn it is, and they would be counted. If its timeout were
// shorter, it would spend attempts, and a task that is only slow would fail. The price:
// a receiver that is slow is called again at each turn.
type quarantineSlot struct {
	queues waitTree[*queue] // with a lane that may go through
	taken  bool             // an attempt is under way
	key    task.Key         // valid if taken: of its task
	wakeup Wakeup           // while it is: for when its time ends
	until  time.Duration    // when that is; 0: no attempt is under way, or it was given up

	gaveUp map[task.Key]int // how often an attempt was; while somebody waits
}

// first returns the lane that goes through now, nil for none.
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

// put inserts q, moves it to where it belongs now, or sends it away.
func (g *quarantineSlot) put(q *queue, stands bool) {
	switch {
	case stands:
		g.queues.put(&q.quarantineNode, rank{turn: q.quarantineTurn, number: q.number}, q.bands[task.Quarantine].lanes.minCost())
	case q.quarantineNode.inTree:
		g.queues.remove(&q.quarantineNode)
	}
}

// enter notes that a pick of q goes through, which has just had its turn.
func (g *quarantineSlot) enter(q *queue) { g.taken, q.quarantineTurn = true, q.since }

// beginQuarantined notes that the attempt which has the quarantine slot starts.
func (pl *Planner) beginQuarantined(k task.Key) {
	pl.quarantine.key = k
	pl.quarantine.until = pl.monotonic + quarantineTime<<min(pl.quarantine.gaveUp[k], 16)
	pl.arm(&pl.quarantine.wakeup, 0, pl.quarantine.until)
}

// GiveUp reports, once, that the attempt in quarantine must be ended: see
// quarantineSlot.
func (pl *Planner) GiveUp() bool { return pl.quarantine.giveUp(pl.monotonic) }

// giveUp reports, once, that the attempt which has the slot has had it for long
// enough, as others wait.
func (g *quarantineSlot) giveUp(steady time.Duration) bool {
	if g.until == 0 || steady < g.until || g.queues.size == 0 {
		return false
	}
	g.until = 0
	if g.gaveUp == nil {
		g.gaveUp = map[task.Key]int{}
	}
	g.gaveUp[g.key]++
	return true
}

// wake has nothing to do: update asks giveUp after each change.
func (g *quarantineSlot) wake(*Planner, task.Millis) {}

// endQuarantined notes that the attempt which has the quarantine slot has ended.
func (pl *Planner) endQuarantined() {
	if pl.quarantine.until != 0 { // it ended by itself
		delete(pl.quarantine.gaveUp, pl.quarantine.key)
	}
	if pl.quarantine.queues.size == 0 {
		clear(pl.quarantine.gaveUp) // of those that were cancelled meanwhile
	}
	pl.quarantine.taken, pl.quarantine.until = false, 0
	pl.arm(&pl.quarantine.wakeup, 0, 0)
}
