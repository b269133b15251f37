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
	interval time.Duration // between the beginnings of two calls; zero means that no call waits
	earliest time.Duration // when the next call can begin, by the monotonic clock
	begun    time.Duration // when the last call began
	cost     time.Duration // of an item of a call, as a moving mean
}

// batchSize is how many items one call of the store carries. Large batches cost
// least, but tasks of another lane that become due wait until a batch is
// claimed, launched or settled. So batches are small while several namespaces
// have tasks in the near window, and no call of a slow store lasts much longer than
// callLasts, unless even few items do.
type batchSize struct{ alone, shared int }

var (
	claimBatch  = batchSize{alone: 256, shared: 24}
	settleBatch = batchSize{alone: 512, shared: 64}
)

const callLasts = 10 * time.Millisecond

// room returns how many items the next call carries.
func (p *pacer) room(b batchSize, several bool) int {
	if several {
		return b.shared
	}
	return int(min(max(callLasts/max(p.cost, 1), time.Duration(b.shared)), time.Duration(b.alone)))
}

// left returns how long the next call has to wait.
func (p *pacer) left(now time.Duration) time.Duration { return max(p.earliest-now, 0) }

// begin records the beginning of a call, where full means that the call had no
// room for another task.
func (p *pacer) begin(now time.Duration, full bool) {
	p.earliest, p.begun = now, now
	if !full {
		p.earliest += p.interval
	}
}

// end records the end of a call of n items.
func (p *pacer) end(now time.Duration, n int) {
	const memory = 8 // calls
	p.cost += ((now-p.begun)/time.Duration(n) - p.cost) / memory
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
