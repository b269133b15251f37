package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/trustedclock"
)

// shifted is a wall clock that is ahead of or behind ours by a fixed time.
type shifted struct {
	by       atomic.Int64
	once     sync.Once
	follower *trustedclock.Clock
}

func (s *shifted) set(by time.Duration) { s.by.Store(int64(by)) }
func (s *shifted) now() time.Time       { return time.Now().Add(time.Duration(s.by.Load())) }

// timeRecorder wraps a queue and records the time that each call carries, as
// the difference from our clock.
type timeRecorder struct {
	store.DispatchStore

	mu    sync.Mutex // guards calls
	calls map[string]map[time.Duration]int
}

func (q *timeRecorder) over(inner store.DispatchStore) store.DispatchStore {
	q.DispatchStore = inner
	return q
}

func (q *timeRecorder) note(op string, now task.Millis) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls == nil {
		q.calls = map[string]map[time.Duration]int{}
	}
	if q.calls[op] == nil {
		q.calls[op] = map[time.Duration]int{}
	}
	q.calls[op][now.Sub(millis())]++
}

func (q *timeRecorder) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	q.note("lanes", until)
	return q.DispatchStore.LanePages(ctx, until, reads)
}

func (q *timeRecorder) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	q.note(opOf(steps), now)
	for _, st := range steps {
		if c, ok := st.Transition.(task.Claim); ok {
			q.note("claim until", c.Until)
		}
	}
	return q.DispatchStore.Transit(ctx, now, steps)
}

func (q *timeRecorder) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	q.note("sweep", now)
	return q.DispatchStore.Sweep(ctx, now, limit)
}

func (q *timeRecorder) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	q.note("reap", now)
	return q.DispatchStore.(store.Reaper).Reap(ctx, now, limit)
}

func (q *timeRecorder) Scrub(_ context.Context, now task.Millis, _ string, _ int) (store.Scrubbed, error) {
	q.note("scrub", now)
	return store.Scrubbed{}, nil
}

func TestATaskIsClaimedWhenItIsDueByTheConfiguredClock(t *testing.T) {
	var clock shifted
	clock.set(-time.Second)
	q := &timeRecorder{}
	l := &long{takes: 10 * time.Second}
	c := Config{Now: clock.now, LeaseFor: 6 * time.Second, SweepEvery: time.Second, ReapEvery: time.Second, ScrubEvery: time.Second}
	inBubble(t, c, q.over, l.receive, func(b *bed) {
		b.create("t", 2*time.Second)
		b.pass(2999 * time.Millisecond) // by our clock it has been due for a second
		b.wantCalls(0)
		if queues := b.Queues(); len(queues) != 1 || queues[0].Overdue != 0 {
			t.Errorf("queues: %+v", queues)
		}
		b.pass(time.Millisecond + tick)
		b.wantCalls(1)
		b.pass(time.Minute)
		b.wantState("t", task.Delivered)
		if s := b.Stats(); s.Moved != 0 {
			t.Errorf("claimed before it was due: %+v", s)
		}
	})
	for op, want := range map[string]time.Duration{
		"lanes": 4 * time.Second, "claim": -time.Second, "claim until": 5 * time.Second, "extend": -time.Second,
		"settle": -time.Second, "sweep": -time.Second, "reap": -time.Second, "scrub": -time.Second,
	} {
		if got := q.calls[op]; len(got) != 1 || got[want] == 0 {
			t.Errorf("%s got a time that differs from ours by %v, want %v", op, got, want)
		}
	}
}

func TestAStepAheadOfTheClockStartsDueTasksAndEndsNoLease(t *testing.T) {
	var clock shifted
	l := &long{takes: 5 * time.Minute}
	inBubble(t, Config{Now: clock.now}, nil, l.receive, func(b *bed) {
		b.create("long", 0, patient)
		b.create("later", time.Hour, patient)
		b.pass(time.Minute)
		b.wantCalls(1)
		clock.set(time.Hour)
		b.pass(b.config.Poll + tick)
		b.wantCalls(2)
		b.pass(10 * time.Minute)
		b.wantState("long", task.Delivered)
		b.wantState("later", task.Delivered)
		if l.cause != nil || l.live != nil {
			t.Errorf("an attempt's context ended by %v, its lease: %v", l.cause, l.live)
		}
	})
}

func TestAStepAheadOfTheClockShortensNoPause(t *testing.T) {
	var clock shifted
	fail := func(context.Context, task.Delivery) task.Outcome {
		return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
	}
	inBubble(t, Config{Now: clock.now, BreakerFailures: 1}, nil, fail, func(b *bed) {
		b.create("breaks", 0)
		b.create("waits", 100*time.Millisecond)
		b.pass(tick)
		clock.set(time.Hour)
		b.pass(b.config.Poll + tick)
		b.wantCalls(1)
		if d := b.Destinations(); len(d) != 1 || d[0].Breaker != planner.Open || time.Until(d[0].Until) < time.Hour {
			t.Errorf("the breaker does not rest: %+v", d)
		}
		b.pass(time.Minute)
		if got := b.get("waits"); got.Attempts == 0 {
			t.Error("nothing was sent after the rest")
		}
	})
}

func TestAStepBackOfTheClockHoldsTasksThatAreNotDueYet(t *testing.T) {
	var clock shifted
	inBubble(t, Config{Now: clock.now}, nil, accept, func(b *bed) {
		b.create("t", time.Minute)
		b.pass(59 * time.Second) // its timer runs
		clock.set(-time.Hour)
		b.pass(time.Hour)
		b.wantCalls(0)
		b.pass(time.Second + tick)
		b.wantCalls(1)
		if s := b.Stats(); s.Moved != 0 {
			t.Errorf("claimed before it was due: %+v", s)
		}
	})
}
