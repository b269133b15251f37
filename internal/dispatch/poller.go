package dispatch

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// poller keeps the planner filled and correct. Every Poll it begins to compare
// the planner with the store, namespace by namespace, and between polls it
// reads more tasks of lanes that run low.
func (d *Dispatcher) poller(ctx context.Context) {
	tick := time.Tick(d.config.Poll)
	for d.survey(ctx); ; {
		select {
		case <-tick:
			d.survey(ctx)
		case <-d.surveys:
			d.survey(ctx)
		case <-d.refills:
			select {
			case <-tick: // if both are ready, select takes either
				d.survey(ctx)
			default:
				d.work(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// survey begins the rounds of all namespaces after their pause.
func (d *Dispatcher) survey(ctx context.Context) {
	names, err := store.Namespaces(ctx, d.queue, d.until())
	if err != nil {
		d.logFailure(ctx, "read the lanes", err)
	}
	d.update(func(now task.Millis) {
		d.count.Polls++
		d.planner.BeginRounds(now, names)
	})
	d.work(ctx)
}

// work takes the steps of rounds, continues updates of lanes, and makes the
// reads that the planner needs. It returns when no work is left or the next
// survey is due.
func (d *Dispatcher) work(ctx context.Context) {
	for began := d.monotonic(); d.monotonic()-began < d.config.Poll; {
		var pages []planner.Page
		var reads []planner.Read
		busy := false
		d.update(func(now task.Millis) {
			pages = d.planner.Pages(now)
			reads = d.planner.Reads(now)
			busy = d.planner.Busy()
		})
		if len(pages) == 0 && len(reads) == 0 && !busy {
			return
		}
		found, failed := readAll(ctx, d, "read the lanes", pages, func(p planner.Page) store.LanePageRead { return p.LanePageRead },
			func(r []store.LanePageRead) ([]store.LanePage, error) { return d.queue.LanePages(ctx, d.until(), r) })
		entries, err := readAll(ctx, d, "read the due index", reads, func(r planner.Read) store.LaneRead { return r.LaneRead },
			func(r []store.LaneRead) ([][]task.Entry, error) { return d.queue.Peek(ctx, r) })
		d.update(func(now task.Millis) {
			d.planner.AbsorbPages(now, pages, found)
			d.planner.AbsorbReads(now, reads, entries)
		})
		if failed != nil || err != nil {
			return
		}
	}
}

// until returns the end of the time for which tasks are read.
func (d *Dispatcher) until() task.Millis {
	return task.FloorMillis(d.config.Now().Add(d.config.Window))
}

// readAll makes the requests of reads in one call, unless there are none.
func readAll[R, Q, F any](ctx context.Context, d *Dispatcher, action string, reads []R, request func(R) Q, call func([]Q) ([]F, error)) ([]F, error) {
	if len(reads) == 0 {
		return nil, nil
	}
	requests := make([]Q, len(reads))
	for i, r := range reads {
		requests[i] = request(r)
	}
	found, err := call(requests)
	if err != nil {
		d.logFailure(ctx, action, err)
		return nil, err
	}
	return found, nil
}
