package dispatch

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// janitorBatch is how many records one Sweep or Reap takes.
	janitorBatch = 1000
	// janitorPause lies between two batches: what ended in one minute must not
	// hold the store's writer for long when it is swept in one minute.
	janitorPause = 10 * time.Millisecond
)

// janitor removes what is kept no longer, and takes back lost leases.
func (d *Dispatcher) janitor(ctx context.Context) {
	sweep := time.NewTicker(d.config.SweepEvery)
	defer sweep.Stop()
	var reap <-chan time.Time
	if d.config.ReapEvery > 0 {
		t := time.NewTicker(d.config.ReapEvery)
		defer t.Stop()
		reap = t.C
	}
	for {
		select {
		case <-sweep.C:
			d.drain(ctx, "sweep ended records", d.queue.Sweep)
		case <-reap:
			d.drain(ctx, "reap lost leases", d.queue.Reap)
		case <-ctx.Done():
			return
		}
	}
}

// drain repeats work until it finds less than it may take.
func (d *Dispatcher) drain(ctx context.Context, name string, work func(context.Context, task.Millis, int) (int, error)) {
	for {
		n, err := work(ctx, d.trusted(), janitorBatch)
		if err != nil {
			d.logFailure(ctx, name, err)
			return
		}
		if n < janitorBatch || !pause(ctx, janitorPause) {
			return
		}
	}
}
