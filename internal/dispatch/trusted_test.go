package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/trustedclock"
)

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

func TestAClockThatStaysAheadIsTrustedAfterAWhile(t *testing.T) {
	var clock shifted
	inBubble(t, Config{Now: clock.now, Trusted: clock.trusted(), SweepEvery: time.Second}, nil, accept, func(b *bed) {
		b.create("done", time.Hour)
		b.apply(task.Cancel{Key: key("done")})
		b.pass(2 * time.Second)
		clock.set(365 * 24 * time.Hour)
		b.pass(trustedclock.Lasts - time.Second)
		b.wantState("done", task.Cancelled)
		b.pass(3 * time.Second)
		if _, err := b.store.Get(t.Context(), key("done")); err == nil {
			t.Error("it was never removed")
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
