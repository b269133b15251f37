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
	tick := time.NewTicker(d.config.Poll)
	defer tick.Stop()
	for d.survey(ctx); ; {
		select {
		case <-tick.C:
			d.survey(ctx)
		case <-d.surveys:
			d.survey(ctx)
		case <-d.refills:
			select {
			case <-tick.C: // if both are ready, select takes either
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
		found, failed := d.readPages(ctx, pages)
		entries, err := d.peek(ctx, reads)
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

// readPages reads pages of lanes.
func (d *Dispatcher) readPages(ctx context.Context, pages []planner.Page) ([]store.LanePage, error) {
	if len(pages) == 0 {
		return nil, nil
	}
	requests := make([]store.LanePageRead, len(pages))
	for i, p := range pages {
		requests[i] = p.LanePageRead
	}
	found, err := d.queue.LanePages(ctx, d.until(), requests)
	if err != nil {
		d.logFailure(ctx, "read the lanes", err)
		return nil, err
	}
	return found, nil
}

// peek reads parts of lanes.
func (d *Dispatcher) peek(ctx context.Context, reads []planner.Read) ([][]task.Entry, error) {
	if len(reads) == 0 {
		return nil, nil
	}
	requests := make([]store.LaneRead, len(reads))
	for i, r := range reads {
		requests[i] = r.LaneRead
	}
	found, err := d.queue.Peek(ctx, requests)
	if err != nil {
		d.logFailure(ctx, "read the due index", err)
		return nil, err
	}
	return found, nil
}
