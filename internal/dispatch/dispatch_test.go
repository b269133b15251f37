package dispatch

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// tick is the resolution of the wheel: the lateness of an idle machine.
const tick = time.Millisecond

func TestATaskIsDeliveredWhenItIsDue(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		for i, delay := range []time.Duration{0, time.Millisecond, 700 * time.Millisecond, 5 * time.Second, time.Hour} {
			b.create(fmt.Sprint("t", i), delay)
		}
		b.pass(time.Hour + time.Second)
		b.wantCalls(5)
		b.wantLate(tick)
		for i := range 5 {
			b.wantState(fmt.Sprint("t", i), task.Delivered)
		}
		if s := b.Stats(); s.Claimed != 5 || s.Delivered != 5 || s.Running != 0 || s.Known != 0 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestACancelledTaskIsNotSent(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.create("t", time.Second)
		b.pass(999 * time.Millisecond)
		b.apply(task.Cancel{Key: key("t")})
		b.pass(time.Minute)
		b.wantCalls(0)
		if s := b.Stats(); s.Gone != 1 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestATouchedTaskFiresOnceAfterTheLastTouch(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.create("dog", time.Second)
		for range 1000 {
			b.pass(300 * time.Millisecond)
			b.apply(task.Touch{Key: key("dog")})
		}
		b.wantCalls(0)
		b.pass(time.Minute)
		b.wantCalls(1)
		b.wantLate(tick)
	})
}

func TestAMovedTaskFiresAtItsNewTime(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		move := func(name string, delay time.Duration) task.Change {
			return task.Patch{Key: key(name), When: &task.When{Relative: true, Delay: delay}}
		}
		b.create("later", time.Second)
		b.create("far", time.Second)
		b.create("sooner", time.Hour)
		b.apply(move("later", 2*time.Second), move("far", 2*time.Hour), move("sooner", 100*time.Millisecond))
		b.pass(3 * time.Hour)
		if got := b.names(); !slices.Equal(got, []string{"sooner", "later", "far"}) {
			t.Errorf("came: %v", got)
		}
		b.wantLate(tick)
	})
}

func TestAFailureIsTriedAgainAfterItsBackoff(t *testing.T) {
	fail := func(context.Context, task.Delivery) task.Outcome {
		return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
	}
	inBubble(t, Config{}, nil, fail, func(b *bed) {
		r := task.Retry{MinBackoff: time.Second, MaxBackoff: time.Minute, MaxAttempts: 6}
		b.create("t", time.Second, retry(r))
		b.pass(time.Hour)
		b.wantCalls(6)
		b.wantLate(tick)
		calls := b.seen()
		for i := 1; i < len(calls); i++ {
			wait, want := calls[i].at.Sub(calls[i-1].at), r.Backoff("t", i)
			if calls[i].number != i+1 || wait < want || wait > want+2*tick {
				t.Errorf("attempt %d came %v after the one before, want %v", calls[i].number, wait, want)
			}
		}
		b.wantState("t", task.Dead)
		if s := b.Stats(); s.Failed != 6 || s.Dead != 1 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestAnUnsentTaskIsTriedAgainWithoutSpinning(t *testing.T) {
	unsent := func(context.Context, task.Delivery) task.Outcome { return task.Outcome{Verdict: task.Unsent} }
	inBubble(t, Config{}, nil, unsent, func(b *bed) {
		b.create("t", 0)
		b.pass(time.Second)
		if n := len(b.seen()); n < 4 || n > 5 {
			t.Errorf("%d attempts in a second, want one every %v", n, unsentPause)
		}
		if got := b.get("t"); got.Attempts != 0 || got.State != task.Scheduled {
			t.Errorf("task: %v after %d tries", got.State, got.Attempts)
		}
	})
}

func TestAnExpiredTaskIsNotSent(t *testing.T) {
	inBubble(t, Config{Slots: 1}, nil, hang, func(b *bed) {
		b.create("first", 0)
		b.pass(time.Millisecond)
		b.create("second", 0, func(s *task.Spec) { s.ExpireAfter = 30 * time.Second })
		b.pass(2 * time.Minute) // first loses its slot when it outlives its timeout by a lease
		b.apply(task.Cancel{Key: key("first")})
		b.pass(time.Minute)
		b.wantState("second", task.Expired)
		if slices.Contains(b.names(), "second") {
			t.Error("the expired task was sent")
		}
	})
}

func TestEndedRecordsAreSwept(t *testing.T) {
	inBubble(t, Config{Poll: time.Hour, SweepEvery: time.Hour}, nil, accept, func(b *bed) {
		for i := range janitorBatch + 1 {
			b.create(fmt.Sprint("t", i), 0)
		}
		b.pass(task.DefaultKeepFinished + 2*time.Hour)
		l, err := b.store.List(b.t.Context(), task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 10})
		if err != nil || len(l.Tasks) != 0 {
			t.Errorf("left: %d, %v", len(l.Tasks), err)
		}
	})
}

func TestARecordThatCannotBeSweptDelaysNoOthers(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		left := 3 * janitorBatch
		b.drain(b.t.Context(), "sweep", func(_ context.Context, _ task.Millis, limit int) (int, error) {
			n := min(limit-1, left)
			left -= n
			return n, nil
		}, nil)
		if left > 0 {
			t.Errorf("left: %d", left)
		}
	})
}
