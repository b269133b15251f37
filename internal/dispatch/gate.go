package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// patience is how long an attempt has the gate while others wait there.
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
// is settled as interrupted, which spends no attempt and ends its quarantine:
// it goes on in its own lane, with its whole timeout. To let the next one in
// beside it was the other choice; but then one that is innocent and slow is
// under way at each death that others cause, and dies with them. To cut its
// timeout was a third; it would spend attempts, and fail what is only slow.
// The price: what kills the process only after a minute is counted towards its
// end at those turns alone at which nobody waits behind it.
type gate struct {
	queues row[*queue]   // with a lane that may go through
	taken  bool          // an attempt is under way
	bell   bell          // while it is: for when the patience ends
	until  time.Duration // when that is; 0: no attempt is under way, or it was given up
}

// first returns the lane that goes through now, nil for none.
func (g *gate) first(left needs) *lane {
	if g.taken || g.queues.size == 0 {
		return nil
	}
	s := g.queues.first(left)
	if s == nil {
		return nil
	}
	return s.owner.shelves[task.Quarantine].lanes.first(left).owner
}

// put seats q, moves it to where it belongs now, or sends it away.
func (g *gate) put(q *queue, stands bool) {
	switch {
	case stands:
		g.queues.put(&q.pass, order{turn: q.went, number: q.number}, q.shelves[task.Quarantine].lanes.needs())
	case q.pass.seated:
		g.queues.remove(&q.pass)
	}
}

// enter notes that a pick of q goes through, which has just had its turn.
func (g *gate) enter(q *queue) { g.taken, q.went = true, q.since }

// beginAtGate notes that the attempt which has the gate starts.
func (a *agenda) beginAtGate() {
	a.gate.until = a.steady + patience
	a.arm(&a.gate.bell, 0, a.gate.until)
}

// giveUp reports, once, that the attempt which has the gate has had it for long
// enough, as others wait.
func (g *gate) giveUp(steady time.Duration) bool {
	if g.until == 0 || steady < g.until || g.queues.size == 0 {
		return false
	}
	g.until = 0
	return true
}

// look has nothing to do: update asks giveUp after each change.
func (g *gate) look(*agenda, task.Millis) {}

// leaveGate notes that the attempt which has the gate has ended.
func (a *agenda) leaveGate() {
	a.gate.taken, a.gate.until = false, 0
	a.arm(&a.gate.bell, 0, 0)
}
