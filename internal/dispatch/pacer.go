package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

// pacer limits how often one goroutine calls the store, so that tasks that come
// soon after each other share a call. After a quiet time or a full call, the
// next call begins at once.
type pacer struct {
	batch    batchSize
	interval time.Duration // between the beginnings of two calls; zero means that no call waits
	earliest time.Duration // when the next call can begin, by the monotonic clock
	begun    time.Duration // when the last call began
	calls    uint          // that have begun
	least    time.Duration // how long a call of few items lasts
	cost     time.Duration // of an item above that, as a moving mean
}

// batchSize is how many items one call of the store carries. Large batches cost
// least, but tasks of another lane that become due wait until a batch is
// claimed, launched or settled. So batches are small while several namespaces
// have tasks in the near window, and the items of a call of a slow store take no longer
// than callLasts, or than the call without them, unless even few items do.
type batchSize struct{ alone, shared int }

// most returns the size for a fast store.
func (b batchSize) most(several bool) int {
	if several {
		return b.shared
	}
	return b.alone
}

// few is the size of a call that shows how long a call lasts without its items.
func (b batchSize) few() int { return b.shared / 4 }

var (
	claimBatch  = batchSize{alone: 256, shared: 24}
	settleBatch = batchSize{alone: 512, shared: 64}
)

const (
	callLasts = 10 * time.Millisecond
	fewEvery  = 64 // calls
)

// room returns how many items the next call carries.
func (p *pacer) room(several bool) int {
	switch {
	case several:
		return p.batch.shared
	case p.calls%fewEvery == 0:
		return p.batch.few()
	}
	return int(min(max(max(callLasts, p.least)/max(p.cost, 1), time.Duration(p.batch.shared)), time.Duration(p.batch.alone)))
}

// left returns how long the next call has to wait.
func (p *pacer) left(now time.Duration) time.Duration { return max(p.earliest-now, 0) }

// begin records the beginning of a call, where full means that the call had no
// room for another task.
func (p *pacer) begin(now time.Duration, full bool) {
	p.earliest, p.begun, p.calls = now, now, p.calls+1
	if !full {
		p.earliest += p.interval
	}
}

// end records the end of a call of n items. One that the store did not answer in time, and
// that was repeated, is no measure, and a single one that is very short or long is little.
func (p *pacer) end(now time.Duration, n int) {
	const memory, outage = 8, time.Second
	switch lasted := now - p.begun; {
	case lasted > outage || n == 0:
	case n > p.batch.few():
		p.cost += (max(lasted-p.least, 0)/time.Duration(n) - p.cost) / memory
	case p.least == 0:
		p.least = lasted
	default:
		p.least += (min(max(lasted, p.least/2), 2*p.least) - p.least) / memory
	}
}

// backlog remembers whether due tasks wait for slots of a limit or of the
// process. A call that waits for others would hold such slots longer, so the
// tasks behind them would be later still.
type backlog struct{ until atomic.Int64 }

// lateAfter is the lateness of a backlog, and holdFor is how long it counts after
// its last task, as multiples of Config.Gather.
const (
	lateAfter = 5
	holdFor   = 10
)

// note is called by the claimer with the picks that are claimed next.
func (b *backlog) note(monotonic time.Duration, now task.Millis, picks []planner.Pick, gather time.Duration) {
	for i := range picks {
		if now.Sub(picks[i].Due) > lateAfter*gather {
			b.until.Store(int64(monotonic + holdFor*gather))
			return
		}
	}
}

// exists reports whether there is a backlog.
func (b *backlog) exists(monotonic time.Duration) bool { return int64(monotonic) < b.until.Load() }

// gather waits until the next call may begin, so that it has more tasks, or
// reports false if ctx ended first.
func (d *Dispatcher) gather(ctx context.Context, p *pacer) bool {
	now := d.monotonic()
	if d.backlog.exists(now) {
		return ctx.Err() == nil
	}
	return pause(ctx, p.left(now))
}
