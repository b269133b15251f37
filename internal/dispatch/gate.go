package dispatch

import "github.com/foliot/foliot/internal/task"

// gate is the way of the lanes in quarantine to their attempts: through it goes
// one at a time, on the whole server. So when the process dies again, only one
// of the tasks that were under way too often can be blamed for it, and one that
// is innocent is settled and leaves the quarantine.
//
// Queues take turns at the gate, and the lanes of each; who is next there goes
// before everything else, and any slot of its class will do. Nobody loses more
// than one slot by that, and routine work without end keeps nobody waiting at
// the gate. With turns as the priorities have them it did: where other queues
// had nothing but quarantine they had waited longest whenever the gate opened.
//
// Limits hold as ever: a pause, the rate, concurrency, breakers. What they stop
// does not stand at the gate. What goes through and hangs holds nothing else,
// and that until its timeout. The gate opens in release, in the same update as
// whatever follows from it: there is no wake-up to lose.
type gate struct {
	queues row[*queue] // with a lane that may go through
	taken  bool        // an attempt is under way
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

func (g *gate) leave() { g.taken = false }
