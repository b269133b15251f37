package dispatch

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// poller keeps the agenda filled, and true: every Poll it compares the agenda
// with the store, and in between it reads on for lanes that run low.
func (d *Dispatcher) poller(ctx context.Context) {
	tick := time.NewTicker(d.config.Poll)
	defer tick.Stop()
	for d.survey(ctx); ; {
		select {
		case <-tick.C:
			d.survey(ctx)
		case <-d.unread:
			d.survey(ctx)
		case <-d.hunger:
			select {
			case <-tick.C: // of two that are ready select takes any
				d.survey(ctx)
			default:
				d.read(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (d *Dispatcher) survey(ctx context.Context) {
	heads, err := d.queue.Lanes(ctx, task.FloorMillis(d.config.Now().Add(d.config.Window)))
	if err != nil {
		d.complain(ctx, "read the lanes", err)
	}
	d.update(func(now task.Millis) {
		d.count.Polls++
		d.agenda.check(now)
		d.agenda.survey(now, heads)
	})
	d.read(ctx)
}

// read carries out the reads that the agenda wants, until it wants no more or
// the next survey is due: reads of many lanes can take long, and the survey
// looks at everything else.
func (d *Dispatcher) read(ctx context.Context) {
	for began := d.monotonic(); d.monotonic()-began < d.config.Poll; {
		var reads []read
		d.update(func(now task.Millis) { reads = d.agenda.plan(now) })
		if len(reads) == 0 {
			return
		}
		found, err := d.queue.Peek(ctx, laneReads(reads))
		if err != nil {
			d.complain(ctx, "read the due index", err)
			found = nil
		}
		d.update(func(now task.Millis) { d.agenda.absorb(now, reads, found) })
		if err != nil {
			return
		}
	}
}

func laneReads(reads []read) []task.LaneRead {
	out := make([]task.LaneRead, len(reads))
	for i, r := range reads {
		out[i] = r.LaneRead
	}
	return out
}
