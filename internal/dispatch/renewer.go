package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// renewer extends leases when a third of the lease has passed: those of long
// attempts, and those of outcomes that could not be settled yet. After the
// notice of a cancel it extends the lease of that attempt at once.
func (d *Dispatcher) renewer(calls context.Context) {
	tick := time.NewTicker(d.config.LeaseFor / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.renew(calls)
		case <-d.renewals:
			d.renew(calls)
		case <-calls.Done():
			return
		}
	}
}

func (d *Dispatcher) renew(calls context.Context) {
	aged := d.aged()
	defer d.reportHanging() // after the extensions, which must not wait
	for len(aged) > 0 {
		batch := aged[:min(len(aged), settleBatch.now(d))]
		aged = aged[len(batch):]
		d.extend(calls, batch)
	}
}

// aged returns the attempts that need a longer lease, and those with renewNow,
// which it clears. A request that outlives its task's timeout by a whole lease
// is left out: its Deliver hangs, and its context ends with the lease. A
// handler that hangs keeps its lease, so that no second attempt runs at the
// same time.
func (d *Dispatcher) aged() []*attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	var aged []*attempt
	monotonic := d.monotonic()
	for a := range d.held {
		hangs := !a.over.Load() && !a.runsHandler() && monotonic-a.armed > a.task.Timeout+d.config.LeaseFor
		if (a.renewNow || a.left(monotonic) <= d.config.LeaseFor*2/3) && !hangs && !a.lost.Load() {
			aged = append(aged, a)
		}
		a.renewNow = false
	}
	return aged
}

// reportHanging finds the handlers that have begun to hang, and calls
// Config.Hangs for each of them.
func (d *Dispatcher) reportHanging() {
	var found []*attempt
	monotonic := d.monotonic()
	d.mu.Lock()
	for a := range d.held {
		if !a.hung && !a.over.Load() && a.runsHandler() && monotonic-a.armed > a.task.Timeout+d.config.LeaseFor/6 {
			a.hung = true
			found = append(found, a)
		}
	}
	d.mu.Unlock()
	for _, a := range found {
		if d.config.Hangs == nil {
			break
		}
		d.config.Hangs(a.task, monotonic-a.armed)
	}
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
			if replies[i].Err != nil {
				a.cancelled()
			}
		case errors.Is(replies[i].Err, task.ErrStale):
			a.lost.Store(true)
			a.cancel(ErrLeaseLost)
		}
	}
}
