package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

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

func BenchmarkMonotonicClock(b *testing.B) {
	s := newMonotonicClock()
	for b.Loop() {
		s.now()
	}
}
