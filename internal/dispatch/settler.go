package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// settler settles what has gathered while its last call was under way: alone
// an outcome is settled at once, under load many share one sync. It ends when
// outcomes is closed and empty.
func (d *Dispatcher) settler(calls context.Context) {
	var apart sync.WaitGroup
	defer apart.Wait()
	for a := range d.outcomes {
		batch := []*attempt{a}
		for more := true; more && len(batch) < settleBatch.now(d); {
			select {
			case next, ok := <-d.outcomes:
				if more = ok; ok {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		d.settle(calls, &apart, batch, false)
	}
}

// settle settles a batch. A call that failed may have been carried out; it is
// repeated until it is answered. Its slots are held until then. What lies in a part of the
// store that is away is repeated beside what follows, which may lie in another.
func (d *Dispatcher) settle(calls context.Context, apart *sync.WaitGroup, batch []*attempt, repeated bool) {
	settlements := make([]task.Settlement, len(batch))
	for i, a := range batch {
		settlements[i] = task.Settlement{Key: a.Key, Token: a.token, Outcome: a.outcome}
	}
	for wait := firstWait; ; wait, repeated = nextWait(wait), true {
		replies, err := d.queue.Settle(calls, d.now(), settlements)
		if err == nil {
			done, answers, away := answered(batch, replies)
			if len(away) > 0 {
				d.storeAway()
				apart.Go(func() {
					if pause(calls, lastWait) {
						d.settle(calls, apart, away, true)
					}
				})
			}
			d.settled(done, answers, repeated)
			d.observe(done, answers)
			return
		}
		d.storeAway()
		if d.logFailure(calls, "settle outcomes", err) || !pause(calls, wait) {
			return
		}
	}
}

// answered parts those of a batch whose settlements were answered, and the answers,
// from those whose part of the store is away.
func answered(batch []*attempt, replies []task.Reply) (done []*attempt, answers []task.Reply, away []*attempt) {
	for i, a := range batch {
		if errors.Is(replies[i].Err, task.ErrUnavailable) {
			away = append(away, a)
		} else {
			done, answers = append(done, a), append(answers, replies[i])
		}
	}
	return done, answers, away
}

// settled gives the slots back. repeated says that a former call may have been
// carried out, so that a stale token tells nothing.
func (d *Dispatcher) settled(batch []*attempt, replies []task.Reply, repeated bool) {
	stale := 0
	d.update(func(now task.Millis) {
		for i, a := range batch {
			delete(d.held, a)
			d.count.sent(d.monotonic(), a.outcome)
			d.planner.Release(&a.Pick, now, a.evidence(), &a.outcome)
			r := replies[i]
			switch {
			case errors.Is(r.Err, task.ErrStale):
				stale++
				continue
			case r.Err != nil:
				continue
			}
			d.count.settled(a.outcome, r.Task)
			d.again(now, r.Task)
		}
		d.count.Stale += uint64(stale)
	})
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) { // nothing repeats it
			d.logs.add("settle a task", r.Err, "task", batch[i].Key.Name, "namespace", batch[i].Key.Namespace)
		}
	}
	if stale > 0 && !repeated {
		d.logs.add("settle outcomes", errors.New("a lease was lost before its outcome was settled; its task is delivered again"), "stale", stale)
	}
}

// again offers a task that is tried again to the planner. The store's hint says
// the same, but a hint may be lost.
func (d *Dispatcher) again(now task.Millis, t *task.Task) {
	if t.State == task.Scheduled {
		d.planner.Offer(now, t.Entry())
	}
}
