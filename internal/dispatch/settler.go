package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// settler settles the outcomes that have come since its last call. After a quiet
// time a single outcome is settled at once, and under load many share a call.
// settler ends when it receives nil from outcomes.
func (d *Dispatcher) settler(calls context.Context) {
	var retries sync.WaitGroup
	defer retries.Wait()
	pace := pacer{batch: settleBatch, interval: d.config.Gather}
	for last := false; !last; {
		a := <-d.outcomes
		if a == nil {
			return
		}
		d.gather(calls, &pace)
		batch, room := []*attempt{a}, pace.room(d.several.Load())
		for more := true; more && len(batch) < room; {
			select {
			case next := <-d.outcomes:
				if last, more = next == nil, next != nil; more {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		pace.begin(d.monotonic(), len(batch) >= room)
		d.settle(calls, &retries, batch, false)
		pace.end(d.monotonic(), len(batch))
	}
}

// settle settles a batch. A call that failed may have been applied, so it is
// repeated until the store replies, and the slots are held until then.
// Settlements in a shard that is unavailable are repeated in a goroutine of
// their own, while later batches continue.
func (d *Dispatcher) settle(calls context.Context, retries *sync.WaitGroup, batch []*attempt, repeated bool) {
	settlements := make([]task.Settlement, len(batch))
	for i, a := range batch {
		settlements[i] = task.Settlement{Key: a.Key, Token: a.token, Outcome: a.outcome}
	}
	_ = d.retry(calls, calls, "settle outcomes", func(again bool) error {
		replies, err := d.queue.Transit(calls, d.now(), store.Settlements(settlements))
		if err != nil {
			d.storeAway()
			return err
		}
		done, answers, away := splitAnswered(batch, replies)
		if len(away) > 0 {
			d.storeAway()
			retries.Go(func() {
				if pause(calls, lastWait) {
					d.settle(calls, retries, away, true)
				}
			})
		}
		acceptCompleted(done, answers)
		d.settled(done, answers, repeated || again)
		d.observe(done, answers)
		return nil
	})
}

// splitAnswered splits a batch into settled attempts, with replies, and attempts
// in an unavailable shard.
func splitAnswered(batch []*attempt, replies []store.Reply) (done []*attempt, answers []store.Reply, away []*attempt) {
	for i, a := range batch {
		if errors.Is(replies[i].Err, task.ErrUnavailable) {
			away = append(away, a)
		} else {
			done, answers = append(done, a), append(answers, replies[i])
		}
	}
	return done, answers, away
}

// acceptCompleted makes attempts successful that have been settled by a transaction of
// their handler: it must have committed, because their token is stale.
func acceptCompleted(batch []*attempt, replies []store.Reply) {
	for i, a := range batch {
		if t := a.completed.Load(); t != nil && errors.Is(replies[i].Err, task.ErrStale) {
			a.outcome.Verdict, a.outcome.Error = task.Success, ""
			replies[i] = store.Reply{Result: task.Result{Task: t}}
		}
	}
}

// settled releases the slots, where repeated means that an earlier call may have
// been applied, so a stale token is no sign of a lost lease.
func (d *Dispatcher) settled(batch []*attempt, replies []store.Reply, repeated bool) {
	stale := 0
	d.update(func(now task.Millis) {
		for i, a := range batch {
			delete(d.held, a)
			d.count.sent(d.monotonic(), a.outcome)
			d.planner.Release(&a.Pick, a.evidence(), &a.outcome)
			r := replies[i]
			switch {
			case errors.Is(r.Err, task.ErrStale):
				stale++
				continue
			case r.Err != nil:
				continue
			}
			d.count.settled(a.outcome, r.Task)
			if r.Task.State == task.Scheduled { // the hint of the store, which says the same, may be lost
				d.planner.Offer(now, r.Task.Entry())
			}
		}
	})
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) { // no later call repeats it
			d.config.Logger.Error("could not settle a task", "task", batch[i].Key.Name, "namespace", batch[i].Key.Namespace, "error", r.Err)
		}
	}
	if stale > 0 && !repeated {
		d.config.Logger.Error("leases ended before their outcomes were settled: their tasks will be sent again", "stale", stale)
	}
}

// Event is one attempt and its settlement.
type Event struct {
	Claimed *task.Task // as the attempt began; its Attempts is the attempt's number
	Outcome task.Outcome
	After   *task.Task // after the settlement; nil if the lease was lost and nothing was changed
}

// observe calls Observe with each settled attempt.
func (d *Dispatcher) observe(batch []*attempt, replies []store.Reply) {
	if d.config.Observe == nil {
		return
	}
	for i, a := range batch {
		e := Event{Claimed: a.task, Outcome: a.outcome}
		if replies[i].Err == nil {
			e.After = replies[i].Task
		}
		d.config.Observe(e)
	}
}
