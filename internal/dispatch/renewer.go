package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// renewer extends leases when a third of the lease has passed: those of long
// attempts, and those of outcomes that could not be settled yet. After the
// notice of a cancel it extends the lease of that attempt at once.
func (d *Dispatcher) renewer(calls context.Context) {
	tick := time.Tick(d.config.LeaseFor / 6)
	for {
		select {
		case <-tick:
			d.renew(calls)
		case <-d.renewals:
			d.renew(calls)
		case <-calls.Done():
			return
		}
	}
}

func (d *Dispatcher) renew(calls context.Context) {
	aged, hanging := d.aged()
	for batch := range slices.Chunk(aged, settleBatch.most(d.several.Load())) {
		d.extend(calls, batch)
	}
	if d.config.Hangs != nil {
		for _, a := range hanging { // after the extensions, which must not wait
			if !a.over.Load() {
				d.config.Hangs(a.task, d.monotonic()-a.armed)
			}
		}
	}
}

// aged returns the attempts that need a longer lease, and those with renewNow,
// which it clears. A request that outlives its task's timeout by a whole lease
// is left out, because its Deliver hangs, and its context ends with the lease.
// A handler that hangs keeps its lease, so that no second attempt runs at the
// same time. hanging has the handlers that have begun to hang.
func (d *Dispatcher) aged() (aged, hanging []*attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	monotonic := d.monotonic()
	for a := range d.held {
		over := time.Duration(0) // how long it has outlived its timeout
		if !a.over.Load() {
			over = monotonic - a.armed - a.task.Timeout
		}
		if !a.hung && a.runsHandler() && over > d.config.LeaseFor/6 {
			a.hung = true
			hanging = append(hanging, a)
		}
		givenUp := !a.runsHandler() && over > d.config.LeaseFor
		if (a.renewNow || a.left(monotonic) <= d.config.LeaseFor*2/3) && !givenUp && !a.lost.Load() {
			aged = append(aged, a)
		}
		a.renewNow = false
	}
	return aged, hanging
}

// extend extends the leases of a batch. If that fails, the next tick tries
// again, until the timer on the wheel of leases ends the attempt.
func (d *Dispatcher) extend(calls context.Context, batch []*attempt) {
	start, now := d.monotonic(), d.now()
	extensions := make([]task.Extension, len(batch))
	for i, a := range batch {
		extensions[i] = task.Extension{Key: a.Key, Token: a.token, Until: now.Add(d.config.LeaseFor)}
	}
	replies, err := d.queue.Transit(calls, now, store.Extensions(extensions))
	if err != nil {
		d.logFailure(calls, "extend leases", err)
		return
	}
	for i, a := range batch {
		switch {
		case task.Applied(replies[i].Err):
			a.extended(start, d.config.LeaseFor)
			d.leases.Extend(a.timer, a.left(d.monotonic())-d.config.guard())
			if replies[i].Err != nil && a.runsHandler() { // the task was cancelled
				a.cancel(ErrCancelled)
			}
		case errors.Is(replies[i].Err, task.ErrStale):
			if a.lost.Store(true); a.completed.Load() != nil { // it has committed, and needs no lease
				d.leases.Remove(a.timer)
			} else {
				a.cancel(ErrLeaseLost)
			}
		}
	}
}
