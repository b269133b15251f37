package dispatch

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// janitorBatch is how many records one Sweep or Reap handles at most.
	janitorBatch = 1000
	// janitorPause is the pause between two batches, because records that ended
	// within one minute must not hold the store's writer for long when they are
	// swept.
	janitorPause = 10 * time.Millisecond
)

// janitor removes records after their retention, and takes back lost leases.
func (d *Dispatcher) janitor(ctx context.Context) {
	sweep := time.Tick(d.config.SweepEvery)
	var reap <-chan time.Time
	if d.config.ReapEvery > 0 && d.config.Reaper != nil {
		reap = time.Tick(d.config.ReapEvery)
	}
	for {
		select {
		case <-sweep:
			d.drain(ctx, "sweep ended records", d.queue.Sweep, d.config.OnSweep)
		case <-reap:
			d.drain(ctx, "reap lost leases", d.config.Reaper.Reap, nil)
		case <-ctx.Done():
			return
		}
	}
}

// drain repeats work until it handles less than half of a batch, and passes the number of
// each batch to done, unless that is nil. A batch is not full if some tasks fail.
func (d *Dispatcher) drain(ctx context.Context, name string, work func(context.Context, task.Millis, int) (int, error), done func(int)) {
	for {
		n, err := work(ctx, d.trusted(), janitorBatch)
		if done != nil {
			done(n)
		}
		if err != nil {
			d.logFailure(ctx, name, err)
			return
		}
		if n < janitorBatch/2 || !pause(ctx, janitorPause) {
			return
		}
	}
}
