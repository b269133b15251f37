package dispatch

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"sync"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

// batchSize is how many items one call of the store carries. Large batches cost least. But tasks
// of another namespace that become due wait until a batch is claimed, launched or settled. So
// batches are small while several namespaces have tasks in the near window.
type batchSize struct{ alone, beside int }

var (
	claimBatch  = batchSize{alone: 256, beside: 24}
	settleBatch = batchSize{alone: 512, beside: 64}
)

// now returns the size for this moment.
func (b batchSize) now(d *Dispatcher) int {
	if d.several.Load() {
		return b.beside
	}
	return b.alone
}

// claimer claims what the planner picks and starts the attempts. It ends when
// stopping does; a claim that is then under way is seen through.
func (d *Dispatcher) claimer(stopping, calls, attempts context.Context) {
	var apart sync.WaitGroup
	defer apart.Wait()
	for {
		select {
		case <-d.wake:
		case <-stopping.Done():
			return
		}
		for stopping.Err() == nil {
			batch := d.take()
			if len(batch) == 0 {
				break
			}
			d.claim(stopping, calls, batch)
			if away := unanswered(batch); len(away) > 0 {
				d.storeAway()
				apart.Go(func() { d.unclaim(stopping, away) })
			}
			d.launch(stopping, attempts, batch)
		}
	}
}

// take picks what is to be claimed now. Each pick holds its slot.
func (d *Dispatcher) take() []*attempt {
	var picks []planner.Pick
	d.update(func(now task.Millis) {
		d.several.Store(d.planner.Several())
		picks = d.planner.Take(now, claimBatch.now(d))
	})
	batch := make([]*attempt, len(picks))
	for i, p := range picks {
		batch[i] = &attempt{Pick: p, token: task.Token(rand.Text())}
	}
	return batch
}

// claim claims a batch, and notes in each of its attempts what became of it.
// A call that failed may have been carried out, and a claim that nobody knows
// of would hold its task until it is reaped: it is repeated, with the same
// tokens, until it is answered or until we stop.
func (d *Dispatcher) claim(stopping, calls context.Context, batch []*attempt) {
	for wait, repeated := firstWait, false; ; wait, repeated = nextWait(wait), true {
		start, now, trusted := d.monotonic(), d.now(), d.trusted()
		claims := make([]task.Claim, len(batch))
		for i, a := range batch {
			claims[i] = task.Claim{Key: a.Key, Lane: a.Lane(), Token: a.token, Until: now.Add(d.config.LeaseFor), Trusted: trusted}
		}
		replies, err := d.queue.Claim(calls, now, claims)
		if err == nil {
			for i, r := range replies {
				batch[i].claimed(r, start, now)
			}
			if repeated {
				d.giveBack(stopping, calls, batch)
			}
			return
		}
		d.storeAway()
		if d.logFailure(calls, "claim due tasks", err) || !pause(stopping, wait) {
			for _, a := range batch {
				a.refused = err
			}
			return
		}
	}
}

// storeAway notes that the store, or a part of it, gave no answer. While it is away, no task
// waits for its receiver alone.
func (d *Dispatcher) storeAway() {
	d.update(func(task.Millis) { d.planner.StoreAway() })
}

// unanswered returns the attempts whose part of the store is away, where that of
// others is not.
func unanswered(batch []*attempt) (away []*attempt) {
	for _, a := range batch {
		if a.apart {
			away = append(away, a)
		}
	}
	return away
}

// unclaim ends the leases that claims which were not answered may have taken: by
// themselves they would end later, and count as reclaims. When they have, it gives up.
func (d *Dispatcher) unclaim(stopping context.Context, away []*attempt) {
	until := d.monotonic() + d.config.LeaseFor
	for wait := firstWait; len(away) > 0 && d.monotonic() < until && pause(stopping, wait); wait = nextWait(wait) {
		settlements := make([]task.Settlement, len(away))
		for i, a := range away {
			settlements[i] = task.Settlement{Key: a.Key, Token: a.token, Outcome: task.Outcome{Verdict: task.Unsent}}
		}
		replies, err := d.queue.Settle(stopping, d.now(), settlements)
		if err != nil {
			if d.logFailure(stopping, "give back what was claimed", err) {
				return
			}
			continue
		}
		var open []*attempt
		for i, r := range replies {
			if errors.Is(r.Err, task.ErrUnavailable) {
				open = append(open, away[i])
			}
		}
		away = open
	}
}

// giveBack ends the leases that a call before may have taken for a batch, where
// the repeated call was told that the task runs: its task was replaced in
// between, so that an attempt of the old one must not begin. A lease that is not
// ours is not touched, as the token is another.
func (d *Dispatcher) giveBack(stopping, calls context.Context, batch []*attempt) {
	var settlements []task.Settlement
	for _, a := range batch {
		var state *task.StateError
		if errors.As(a.refused, &state) && state.Code == task.CodeRunning {
			settlements = append(settlements, task.Settlement{Key: a.Key, Token: a.token, Outcome: task.Outcome{Verdict: task.Unsent}})
		}
	}
	if len(settlements) == 0 {
		return
	}
	for wait := firstWait; ; wait = nextWait(wait) {
		_, err := d.queue.Settle(calls, d.now(), settlements)
		if err == nil || d.logFailure(calls, "give back what was claimed", err) || !pause(stopping, wait) {
			return
		}
	}
}

// launch starts the attempts of the tasks that were claimed, and gives back
// the slots of the others.
//
// If other namespaces have tasks, it starts as many goroutines as there are processors, and waits
// for them to run before it starts more. On a busy machine the goroutines of a thousand attempts
// would otherwise stand in one line, and each step of every other attempt, whose turn
// may have come long ago, waits for that line to pass. Goroutines that wait for the
// network do not stand in it: a receiver that is slow holds nothing up.
func (d *Dispatcher) launch(stopping, attempts context.Context, batch []*attempt) {
	for _, a := range batch {
		if a.refused == nil {
			d.arm(attempts, a)
		}
	}
	d.update(func(now task.Millis) {
		for _, a := range batch {
			d.planner.Answered(a.Key)
			if a.refused != nil {
				a.odd = !d.count.refused(a.refused) && !a.apart && stopping.Err() == nil
				d.planner.Release(&a.Pick, now, planner.Nothing, nil)
				continue
			}
			a.lapsed = !d.planner.Covered(&a.Pick)
			d.planner.Begin(&a.Pick)
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
		case a.odd: // found again by each poll
			d.logs.add("claim a task", a.refused, "task", a.Key.Name, "namespace", a.Key.Namespace)
		case a.refused != nil:
		case stopping.Err() != nil:
			d.end(a, task.Outcome{Verdict: task.Unsent, Error: "stopped before the request was sent"})
		case a.lapsed:
			d.end(a, task.Outcome{Verdict: task.Unsent, Error: ErrPermitLost.Error()})
		default:
			group.Add(1)
			d.running.Go(func() { group.Done(); d.attempt(a) })
			if started++; started%most == 0 {
				group.Wait()
			}
		}
	}
	group.Wait()
}

// refused counts a claim that was answered with an error, and reports whether tasks
// that are well have such errors.
func (c *counters) refused(err error) bool {
	var state *task.StateError
	switch {
	case errors.Is(err, task.ErrExpired):
		c.Expired++
	case errors.Is(err, task.ErrNotDue), errors.Is(err, task.ErrLaneChanged):
		c.Moved++ // the hint that said so was late or lost: the poll finds where it is now
	case errors.Is(err, task.ErrNotFound), errors.As(err, &state):
		c.Gone++ // cancelled, mostly
	default:
		return false
	}
	return true
}
