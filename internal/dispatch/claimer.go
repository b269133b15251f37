package dispatch

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// claimer claims the planner's picks and starts their attempts. It ends when
// stopping does, after the claim that is under way.
func (d *Dispatcher) claimer(stopping, calls, attempts context.Context) {
	var retries sync.WaitGroup
	defer retries.Wait()
	pace := pacer{batch: claimBatch, interval: d.config.Gather}
	for {
		select {
		case <-d.wake:
		case <-stopping.Done():
			return
		}
		for d.gather(stopping, &pace) {
			room := pace.room(d.several.Load())
			batch := d.take(room)
			if len(batch) == 0 {
				break
			}
			pace.begin(d.monotonic(), len(batch) >= room)
			d.claim(stopping, calls, batch)
			ended, claimed := d.monotonic(), 0
			var unclear []*attempt
			for _, a := range batch {
				if a.refused == nil { // the store may refuse others without a look
					claimed++
				}
				if a.unclear {
					unclear = append(unclear, a)
				}
			}
			pace.end(ended, claimed)
			if len(unclear) > 0 {
				d.storeAway()
				retries.Go(func() { d.unclaim(stopping, calls, unclear) })
			}
			d.launch(stopping, attempts, batch)
		}
	}
}

// take returns the tasks that must be claimed now, at most limit, each with a slot.
func (d *Dispatcher) take(limit int) []*attempt {
	var picks []planner.Pick
	d.update(func(now task.Millis) {
		picks = d.planner.Take(now, limit)
		d.backlog.note(d.monotonic(), now, picks, d.config.Gather)
	})
	batch := make([]*attempt, len(picks))
	for i, p := range picks {
		batch[i] = &attempt{Pick: p, token: task.Token(rand.Text())}
	}
	return batch
}

// claim claims a batch and records the reply in each attempt. A call that
// failed may have been applied, and then a forgotten claim would hold its
// task until it is reaped. So the call is repeated with the same tokens until
// the store replies or the dispatcher stops.
func (d *Dispatcher) claim(stopping, calls context.Context, batch []*attempt) {
	err := d.retry(stopping, calls, "claim due tasks", func(repeated bool) error {
		start, now, trusted := d.monotonic(), d.now(), d.trusted()
		claims := make([]task.Claim, len(batch))
		for i, a := range batch {
			claims[i] = task.Claim{Key: a.Key, Lane: a.Lane(), Token: a.token, Until: now.Add(d.config.LeaseFor), Trusted: trusted}
			if task.KindOf(claims[i].Lane.Destination) != "" {
				claims[i].Holder = d.config.Holder
			}
		}
		replies, err := d.queue.Transit(calls, now, store.Claims(claims))
		if err != nil {
			d.storeAway()
			return err
		}
		for i, r := range replies {
			batch[i].claimed(r, start, now, repeated)
		}
		return nil
	})
	if err != nil {
		for _, a := range batch {
			a.refused, a.unclear = err, !errors.Is(err, task.ErrClosed)
		}
	}
}

// storeAway records that the store, or a shard of it, did not reply, because
// the receiver is then not the only reason why tasks wait.
func (d *Dispatcher) storeAway() {
	d.update(func(task.Millis) { d.planner.StoreAway() })
}

// unclaimLimit is how long a stopping dispatcher tries to give unclear claims back.
const unclaimLimit = 500 * time.Millisecond

// unclaim ends the leases that unclear claims may have taken, which would
// otherwise end later and count as reclaims. A lease of another claim is not
// changed, because its token differs. unclaim stops after LeaseFor, because the
// leases have then ended. When the dispatcher stops, unclaim tries at once, for
// unclaimLimit, so that another process can claim the tasks.
func (d *Dispatcher) unclaim(stopping, calls context.Context, unclear []*attempt) {
	calls, cancel := context.WithCancel(calls)
	defer cancel()
	defer context.AfterFunc(stopping, func() { time.AfterFunc(unclaimLimit, cancel) })()
	until := d.monotonic() + d.config.LeaseFor
	for wait := firstWait; len(unclear) > 0 && d.monotonic() < until; wait = nextWait(wait) {
		if !pause(stopping, wait) && !pause(calls, min(wait, unclaimLimit/8)) {
			return
		}
		settlements := make([]task.Settlement, len(unclear))
		for i, a := range unclear {
			settlements[i] = task.Settlement{Key: a.Key, Token: a.token, Outcome: task.Outcome{Verdict: task.Unsent}}
		}
		replies, err := d.queue.Transit(calls, d.now(), store.Settlements(settlements))
		if err == nil {
			_, _, unclear = splitAnswered(unclear, replies)
		} else if d.logFailure(calls, "give back claimed tasks", err) {
			return
		}
	}
}

// launch starts the attempts of the claimed tasks, and releases the slots of
// the other picks.
//
// If several namespaces have tasks, launch starts as many goroutines as there
// are processors, and waits until they run before it starts more. On a busy
// machine the goroutines of a thousand attempts would otherwise be in the
// scheduler's queue together, and each step of every other attempt would wait
// for them. Goroutines that wait for the network are not in that queue, so a
// slow receiver delays no other attempt.
func (d *Dispatcher) launch(stopping, attempts context.Context, batch []*attempt) {
	for _, a := range batch {
		if a.refused == nil {
			d.arm(attempts, a)
		}
	}
	d.update(func(task.Millis) {
		for _, a := range batch {
			d.planner.Answered(a.Key)
			if a.refused != nil {
				a.unexpected = !d.count.countRefusal(a.refused) && !a.unavailable && stopping.Err() == nil
				d.planner.Release(&a.Pick, planner.Nothing, nil)
				continue
			}
			a.permitLost = !d.planner.Begin(&a.Pick)
			d.count.Claimed++
			d.held[a] = struct{}{}
		}
	})
	var group sync.WaitGroup
	started, most := 0, len(batch)+1
	if d.several.Load() {
		most = runtime.GOMAXPROCS(0)
	}
	for _, a := range batch {
		switch {
		case a.unexpected: // each poll finds the task again
			d.config.Logger.Error("could not claim a task", "task", a.Key.Name, "namespace", a.Key.Namespace, "error", a.refused)
		case a.refused != nil:
		case stopping.Err() != nil:
			d.end(a, task.Outcome{Verdict: task.Unsent, Error: "stopped before the request was sent"})
		case a.permitLost:
			d.end(a, task.Outcome{Verdict: task.Unsent, Error: errPermitLost.Error()})
		default:
			group.Add(1)
			a.begun = group.Done
			d.begin(a)
			if started++; started%most == 0 {
				group.Wait()
			}
		}
	}
	group.Wait()
}

// countRefusal counts a claim that was refused with err, and reports whether a
// healthy task can get this error.
func (c *counters) countRefusal(err error) bool {
	var state *task.StateError
	switch {
	case errors.Is(err, task.ErrExpired):
		c.Expired++
	case errors.Is(err, task.ErrNotDue), errors.Is(err, task.ErrLaneChanged):
		c.Moved++ // the hint about the change was late or lost: the poll finds the new place
	case errors.Is(err, task.ErrNotFound), errors.As(err, &state):
		c.Gone++ // cancelled, in most cases
	default:
		return false
	}
	return true
}
