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
}

// left returns how long the next call has to wait.
func (p *pacer) left(now time.Duration) time.Duration { return max(p.earliest-now, 0) }

// begin records the beginning of a call, where full means that the call had no
// room for another task.
func (p *pacer) begin(now time.Duration, full bool) {
	p.earliest = now
	if !full {
		p.earliest += p.interval
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
