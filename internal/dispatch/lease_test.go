package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// long is a receiver that replies after a while. It records the state of its
// context at that time, and the reply of Live.
type long struct {
	takes time.Duration

	cause error
	live  error
	ended time.Time
}

func (l *long) receive(ctx context.Context, d task.Delivery) task.Outcome {
	t := time.NewTimer(l.takes)
	defer t.Stop()
	select {
	case <-t.C:
		l.ended, l.live = time.Now(), d.Live()
		return accept(ctx, d)
	case <-ctx.Done():
		l.ended, l.cause, l.live = time.Now(), context.Cause(ctx), d.Live()
		return task.Outcome{Verdict: task.Interrupted, Error: "interrupted", StartedAt: millis()}
	}
}

func patient(s *task.Spec) { s.Timeout = 10 * time.Minute }

func TestALongAttemptKeepsItsLease(t *testing.T) {
	l := &long{takes: 5 * time.Minute}
	inBubble(t, Config{}, nil, l.receive, func(b *bed) {
		b.create("t", 0, patient)
		b.pass(time.Second)
		for range 298 {
			if got := b.get("t"); got.Lease == nil || got.Lease.Until.Sub(millis()) < 5*time.Second {
				t.Fatalf("the lease is %+v", got.Lease)
			}
			b.pass(time.Second)
		}
		b.pass(2 * time.Second)
		b.wantCalls(1)
		b.wantState("t", task.Delivered)
		if l.live != nil {
			t.Errorf("live: %v", l.live)
		}
	})
}

func TestAnAttemptThatCannotExtendItsLeaseEndsASecondBefore(t *testing.T) {
	l := &long{takes: time.Minute}
	f := &faults{fail: func(op string, n int) (before, after error) {
		if op == "extend" {
			return errBroken, nil
		}
		return nil, nil
	}}
	inBubble(t, Config{LeaseFor: 15 * time.Second, Grace: -1}, f.over, l.receive, func(b *bed) {
		began := time.Now()
		b.create("t", 0, patient)
		b.pass(14*time.Second + 100*time.Millisecond)
		if took := l.ended.Sub(began); took < 14*time.Second-tick || took > 14*time.Second+tick {
			t.Errorf("it ended after %v", took)
		}
		if !errors.Is(l.cause, ErrLeaseLost) || !errors.Is(l.live, ErrLeaseLost) {
			t.Errorf("cause %v, live %v", l.cause, l.live)
		}
		if s := b.Stats(); s.Interrupted != 1 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestAnAttemptThatLosesItsLeaseEndsAndSettlesNothing(t *testing.T) {
	l := &long{takes: time.Minute}
	var events []Event
	c := Config{LeaseFor: 15 * time.Second, Grace: -1, Observe: func(e Event) { events = append(events, e) }}
	inBubble(t, c, nil, l.receive, func(b *bed) {
		began := time.Now()
		b.create("t", 0, patient)
		b.pass(time.Second)
		if n, err := b.store.Reap(b.t.Context(), millis().Add(time.Hour), 10); n != 1 || err != nil {
			t.Fatalf("reap: %d, %v", n, err)
		}
		b.pass(7 * time.Second)
		if took := l.ended.Sub(began); took < 5*time.Second || took > 8*time.Second {
			t.Errorf("it ended after %v", took)
		}
		if !errors.Is(l.cause, ErrLeaseLost) {
			t.Errorf("cause: %v", l.cause)
		}
		if s := b.Stats(); s.Claimed != 2 {
			t.Errorf("stats: %+v", s)
		}
		if len(events) != 1 || events[0].After != nil {
			t.Errorf("events: %+v", events)
		}
	})
}

// A transaction of a handler has settled its attempt. The handler may go on without a
// lease, and its outcome changes nothing.
func TestAnAttemptThatIsCompleteNeedsNoLease(t *testing.T) {
	l := &long{takes: time.Minute}
	var st store.Steps
	receive := func(ctx context.Context, d task.Delivery) task.Outcome {
		replies, err := st.Transit(ctx, millis(), store.Settlements([]task.Settlement{{Key: d.Task.Key(), Token: d.Task.Lease.Token, Outcome: task.Outcome{Verdict: task.Success}}}))
		fatal.If(t, errors.Join(err, replies[0].Err))
		d.Completed(replies[0].Task)
		_ = l.receive(ctx, d)
		return task.Outcome{Verdict: task.Failure, Error: "failed after the commit"}
	}
	var events []Event
	c := Config{LeaseFor: 15 * time.Second, Grace: -1, Observe: func(e Event) { events = append(events, e) }}
	inBubble(t, c, nil, receive, func(b *bed) {
		st = b.store
		b.create("t", 0, patient)
		b.pass(time.Minute + time.Second)
		if l.ended.IsZero() || l.cause != nil {
			t.Errorf("it ended at %v: %v", l.ended, l.cause)
		}
		if s := b.Stats(); s.Claimed != 1 || s.Delivered != 1 || s.Failed != 0 {
			t.Errorf("stats: %+v", s)
		}
		if len(events) != 1 || events[0].After == nil || events[0].After.State != task.Delivered || events[0].Outcome.Verdict != task.Success {
			t.Errorf("events: %+v", events)
		}
		b.wantState("t", task.Delivered)
	})
}

func TestAnAttemptThatOutlivesItsTimeoutByALeaseIsGivenUp(t *testing.T) {
	l := &long{takes: time.Hour}
	inBubble(t, Config{LeaseFor: 15 * time.Second, Grace: -1}, nil, l.receive, func(b *bed) {
		began := time.Now()
		b.create("t", 0, func(s *task.Spec) { s.Timeout = 30 * time.Second })
		b.pass(time.Minute)
		if took := l.ended.Sub(began); took < 45*time.Second || took > time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

func TestStoppingLetsAttemptsEndWithinTheGrace(t *testing.T) {
	l := &long{takes: 8 * time.Second}
	inBubble(t, Config{Grace: 10 * time.Second}, nil, l.receive, func(b *bed) {
		b.create("t", 0)
		b.create("next", 2*time.Second)
		b.pass(time.Second)
		if err := b.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
		b.wantCalls(1)
		b.wantState("t", task.Delivered)
		b.wantState("next", task.Scheduled)
	})
}

func TestAfterTheGraceAttemptsAreInterruptedAndSettled(t *testing.T) {
	l := &long{takes: time.Hour}
	inBubble(t, Config{Grace: 10 * time.Second}, nil, l.receive, func(b *bed) {
		b.create("t", 0, patient)
		b.pass(time.Second)
		began := time.Now()
		if err := b.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("Run took %v to end", took)
		}
		if !errors.Is(l.cause, ErrStopped) {
			t.Errorf("cause: %v", l.cause)
		}
		got := b.get("t")
		if got.State != task.Scheduled || got.Attempts != 1 || got.AttemptsUsed != 0 || got.Reclaims != 0 {
			t.Errorf("task: %+v", got)
		}
	})
}

func TestATaskClaimedWhileStoppingIsGivenBackUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{}
		b := newBed(t, Config{}, f.over, accept)
		f.fail = func(op string, n int) (before, after error) {
			if op == "claim" {
				b.stop() // between the pick and the claim
			}
			return nil, nil
		}
		b.start()
		b.create("t", 0)
		if err := <-b.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		b.wantCalls(0)
		if got := b.get("t"); got.State != task.Scheduled || got.Attempts != 0 {
			t.Errorf("task: %v after %d tries", got.State, got.Attempts)
		}
	})
}

func TestOutcomesThatCannotBeSettledAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{fail: func(op string, n int) (before, after error) {
			if op == "settle" {
				return errBroken, nil
			}
			return nil, nil
		}}
		b := newBed(t, Config{}, f.over, accept)
		b.start()
		b.create("t", 0)
		b.pass(time.Second)
		b.stop()
		began := time.Now()
		if err := <-b.ended; err == nil {
			t.Error("Run returned nil")
		}
		if took := time.Since(began); took > settleLimit+time.Second {
			t.Errorf("Run took %v to end", took)
		}
	})
}
