package dispatch

import (
	"context"
	"errors"
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

// trusted returns the trusted time of the clock. It starts with its first call,
// in the bubble.
func (s *shifted) trusted() func() time.Time {
	return func() time.Time {
		s.once.Do(func() { s.follower = trustedclock.New(s.now, nil) })
		return s.follower.Now()
	}
}

// blip sets the clock ahead for 1.5 s.
func (s *shifted) blip(b *bed, by time.Duration) {
	b.t.Helper()
	s.set(by)
	b.pass(1500 * time.Millisecond)
	s.set(0)
	b.pass(time.Minute)
}

func TestAShortStepAheadOfTheClockEndsNothing(t *testing.T) {
	var clock shifted
	down := true
	fail := func(ctx context.Context, d task.Delivery) task.Outcome {
		if down {
			return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
		}
		return accept(ctx, d)
	}
	inBubble(t, Config{Now: clock.now, Trusted: clock.trusted(), BreakerFailures: -1, SweepEvery: time.Second, ReapEvery: time.Second}, nil, fail, func(b *bed) {
		b.create("retries", 0)
		b.create("never-tried", time.Minute, func(s *task.Spec) { s.ExpireAfter = time.Hour })
		done := spec(t, "done", time.Hour)
		b.apply(task.Create{Spec: done, Idempotency: &task.Idempotency{Key: "key", Fingerprint: "print"}}, task.Cancel{Key: key("done")})
		b.pass(2 * time.Second)
		down = false
		for _, by := range []time.Duration{2 * time.Minute, 2 * time.Hour, 365 * 24 * time.Hour} {
			clock.blip(b, by)
			if r := b.get("retries"); r.State != task.Scheduled && r.State != task.Delivered {
				t.Errorf("by %v: the task that is tried again is %v (%s)", by, r.State, r.Reason)
			}
			if r := b.get("never-tried"); r.State != task.Scheduled && r.State != task.Delivered {
				t.Errorf("by %v: the task that was never tried is %v (%s)", by, r.State, r.Reason)
			}
			b.wantState("done", task.Cancelled)
		}
	})
}

// The store's clock steps while an attempt is under way. Its lease is not taken
// back, and no second attempt begins, whether the attempt ends or continues.
func TestALeaseSurvivesAStepOfTheClock(t *testing.T) {
	for _, by := range []time.Duration{20 * time.Second, time.Hour, 24 * time.Hour} {
		var clock shifted
		l := &long{takes: 10 * time.Minute}
		inBubble(t, Config{Now: clock.now, Trusted: clock.trusted(), ReapEvery: 500 * time.Millisecond}, nil, l.receive, func(b *bed) {
			b.create("t", 0, func(s *task.Spec) { s.Timeout = 20 * time.Minute })
			b.pass(time.Second)
			clock.set(by)
			b.pass(11 * time.Minute)
			b.wantCalls(1)
			b.wantState("t", task.Delivered)
		})
	}
}

func TestTheMonotonicClockAdvancesDuringSleepAndNeverGoesBack(t *testing.T) {
	s := &monotonicClock{}
	for i, reading := range []struct{ monotonic, wall, want time.Duration }{
		{1 * time.Second, 1 * time.Second, 1 * time.Second},
		{2 * time.Second, 2*time.Second + 900*time.Millisecond, 2 * time.Second}, // corrected
		{3 * time.Second, time.Hour + 3*time.Second + 900*time.Millisecond, time.Hour + 3*time.Second},
		{4 * time.Second, 4 * time.Second, time.Hour + 4*time.Second}, // set back
		{5 * time.Second, 5 * time.Second, time.Hour + 5*time.Second},
		{6 * time.Second, time.Minute + 6*time.Second, time.Hour + time.Minute + 6*time.Second},
	} {
		if got := s.readLocked(reading.monotonic, reading.wall); got != reading.want {
			t.Errorf("reading %d: %v, want %v", i, got, reading.want)
		}
	}
}

// A laptop is closed, or a machine paused, between an attempt's claim and its
// request.
func TestAnAttemptIsNotSentAfterTheMachineSleptPastItsLease(t *testing.T) {
	var b *bed
	var live error
	r := func(ctx context.Context, d task.Delivery) task.Outcome {
		if d.Number == 1 && live == nil {
			b.clock.mu.Lock()
			b.clock.gap -= time.Hour // the wall clock went an hour further than the monotonic one
			b.clock.mu.Unlock()
			live = d.Live()
			return task.Outcome{Verdict: task.Unsent, Error: "the lease ended"}
		}
		return accept(ctx, d)
	}
	inBubble(t, Config{}, nil, r, func(bed *bed) {
		b = bed
		b.create("t", 0)
		time.Sleep(time.Minute)
	})
	if !errors.Is(live, ErrLeaseLost) {
		t.Errorf("it may be sent: %v", live)
	}
}
