package dispatch

import "github.com/foliot/foliot/internal/task"

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
// does not stand at the gate. What hangs holds the gate until its timeout, and
// one slot. The gate opens in release, and update looks after each change what
// may start: there is no wake-up of its own that could be lost.
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
