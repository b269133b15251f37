package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// patience is how long an attempt has the gate while others wait there, the first
// time: each time that it is given up it has twice as long the next.
const patience = time.Minute

// gate is the way of the lanes in quarantine to their attempts: one at a time
// goes through it, on the whole server. So when the process dies again, that
// counts against one of the tasks that were under way too often; one that is
// innocent is settled, and leaves the quarantine.
//
// Queues take turns at the gate, and so do the lanes of each. Whose turn it is
// goes before everything else, and any slot of its class will do: nobody loses
// more than that slot, and no routine work, however much, keeps anyone waiting.
// A turn among the priorities would: where other queues have nothing but lanes
// in quarantine, these have waited longest whenever the gate opens, and a queue
// that is busy otherwise would never go through.
//
// Limits hold as ever: a pause, the rate, concurrency, breakers. What they stop
// does not stand at the gate. The gate opens in release, and update looks after
// each change what may start: there is no wake-up of its own that could be lost.
//
// What takes longer than the patience is given up as soon as somebody waits. It
// is settled as interrupted, which spends no attempt, and stays in quarantine,
// behind the others; its next turn is twice as long, until it ends by itself. To
// let it go on beside the gate, in its lane or not, was the other choice; but
// then what kills the process late kills those whose turn it is, and they are
// counted, not the one to blame. To cut its timeout was a third; it would spend
// attempts, and fail what is only slow. The price: a receiver that is slow is
// called again at each turn.
type gate struct {
	queues waitTree[*queue] // with a lane that may go through
	taken  bool             // an attempt is under way
	key    task.Key         // valid if taken: of its task
	wakeup Wakeup           // while it is: for when the patience ends
	until  time.Duration    // when that is; 0: no attempt is under way, or it was given up

	gaveUp map[task.Key]int // how often an attempt was; while somebody waits
}

// first returns the lane that goes through now, nil for none.
func (g *gate) first(left cost) *lane {
	if g.taken || g.queues.size == 0 {
		return nil
	}
	s := g.queues.first(left)
	if s == nil {
		return nil
	}
	return s.owner.shelves[task.Quarantine].lanes.first(left).owner
}

// put inserts q, moves it to where it belongs now, or sends it away.
func (g *gate) put(q *queue, stands bool) {
	switch {
	case stands:
		g.queues.put(&q.pass, rank{turn: q.went, number: q.number}, q.shelves[task.Quarantine].lanes.minCost())
	case q.pass.inTree:
		g.queues.remove(&q.pass)
	}
}

// enter notes that a pick of q goes through, which has just had its turn.
func (g *gate) enter(q *queue) { g.taken, q.went = true, q.since }

// beginAtGate notes that the attempt which has the gate starts.
func (a *Planner) beginAtGate(k task.Key) {
	a.gate.key = k
	a.gate.until = a.steady + patience<<min(a.gate.gaveUp[k], 16)
	a.arm(&a.gate.wakeup, 0, a.gate.until)
}

// GiveUp reports, once, that the attempt which has the gate must be ended: see gate.
func (a *Planner) GiveUp() bool { return a.gate.giveUp(a.steady) }

// giveUp reports, once, that the attempt which has the gate has had it for long
// enough, as others wait.
func (g *gate) giveUp(steady time.Duration) bool {
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
func (g *gate) wake(*Planner, task.Millis) {}

// leaveGate notes that the attempt which has the gate has ended.
func (a *Planner) leaveGate() {
	if a.gate.until != 0 { // it ended by itself
		delete(a.gate.gaveUp, a.gate.key)
	}
	if a.gate.queues.size == 0 {
		clear(a.gate.gaveUp) // of those that were cancelled meanwhile
	}
	a.gate.taken, a.gate.until = false, 0
	a.arm(&a.gate.wakeup, 0, 0)
}
