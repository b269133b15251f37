package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/task"
)

// flaky is a receiver that can be broken and repaired.
type flaky struct {
	mu      sync.Mutex // guards all fields below
	outcome *task.Outcome
	takes   time.Duration
}

func (f *flaky) set(o *task.Outcome, takes time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcome, f.takes = o, takes
}

func (f *flaky) receive(ctx context.Context, d task.Delivery) task.Outcome {
	f.mu.Lock()
	o, takes := f.outcome, f.takes
	f.mu.Unlock()
	if !strings.HasPrefix(d.Task.Request.Destination, "flaky") {
		return accept(ctx, d)
	}
	if takes > 0 && !pause(ctx, takes) {
		return task.Outcome{Verdict: task.Interrupted}
	}
	if o == nil {
		return accept(ctx, d)
	}
	out := *o
	out.StartedAt = millis()
	return out
}

var (
	refused     = &task.Outcome{Verdict: task.Failure, Error: "connection refused"}
	overwhelmed = &task.Outcome{Verdict: task.Failure, Status: 500}
	notFound    = &task.Outcome{Verdict: task.Failure, Status: 404}
	come        = &task.Outcome{Verdict: task.Snooze, Status: 503, RetryAfter: 10 * time.Millisecond}
)

var stubborn = retry(task.Retry{MinBackoff: 100 * time.Millisecond, MaxBackoff: 100 * time.Millisecond})

// flakyHost returns the state of the destination.
func (b *bed) flakyHost() planner.Destination {
	b.t.Helper()
	for _, d := range b.Destinations() {
		if d.Host == "flaky:80" {
			return d
		}
	}
	b.t.Fatal("the destination is not known")
	return planner.Destination{}
}

func (b *bed) wantBreaker(want planner.Breaker) {
	b.t.Helper()
	if d := b.flakyHost(); d.Breaker != want {
		b.t.Errorf("the breaker is %v, want %v: %+v", d.Breaker, want, d)
	}
}

func TestAnOpenBreakerStopsAttemptsToAFailingReceiver(t *testing.T) {
	for name, broken := range map[string]*task.Outcome{"no connection": refused, "500": overwhelmed} {
		t.Run(name, func(t *testing.T) {
			f := &flaky{outcome: broken}
			inBubble(t, Config{Slots: 4}, nil, f.receive, func(b *bed) {
				b.apply(crowd(t, "t", 50, to("flaky"), stubborn)...)
				b.create("ok0", time.Second, to("healthy"))
				b.pass(900 * time.Millisecond)
				opened := len(b.seen())
				if opened < 10 || opened > 13 {
					t.Errorf("%d attempts were made until it opened", opened)
				}
				b.wantBreaker(planner.Open)
				if s := b.Stats(); s.Breakers != 1 {
					t.Errorf("stats: %+v", s)
				}
				b.pass(10 * time.Minute)
				if n := len(b.seen()) - opened - 1; n < 20 || n > 35 {
					t.Errorf("%d probes in ten minutes", n)
				}
				b.wantAliveOnTime(1)
				f.set(nil, 0)
				b.pass(31 * time.Second)
				for i := range 50 {
					got := b.get(fmt.Sprintf("t-%06d", i))
					if got.State != task.Delivered || got.Attempts > 40 {
						t.Fatalf("%s is %v after %d tries", got.Name, got.State, got.Attempts)
					}
				}
				b.wantBreaker(planner.Closed)
				if s := b.Stats(); s.Breakers != 0 {
					t.Errorf("stats: %+v", s)
				}
			})
		})
	}
}

func TestABreakerDoublesTheWaitBetweenProbes(t *testing.T) {
	f := &flaky{outcome: refused}
	inBubble(t, Config{Slots: 1, BreakerFailures: 2, BreakerMax: 8 * time.Second}, nil, f.receive, func(b *bed) {
		b.apply(crowd(t, "t", 20, to("flaky"), stubborn)...)
		b.pass(time.Minute)
		calls := b.seen()[1:]
		for i := 1; i < len(calls); i++ {
			wait, most := calls[i].at.Sub(calls[i-1].at), min(time.Second<<(i-1), 8*time.Second)
			if wait < most*3/4 || wait > most+tick {
				t.Errorf("probe %d came after %v, want about %v", i, wait, most)
			}
		}
		if len(calls) < 8 {
			t.Errorf("%d probes in a minute", len(calls))
		}
	})
}

func TestAHalfOpenBreakerAllowsOneAttempt(t *testing.T) {
	f := &flaky{outcome: refused, takes: 100 * time.Millisecond}
	inBubble(t, Config{BreakerFailures: 3}, nil, f.receive, func(b *bed) {
		for i := range 4 { // in several lanes of several queues
			b.apply(crowd(t, fmt.Sprint("t", i), 50, to("flaky"), stubborn, in(fmt.Sprint("q", i)), priority(task.Priority(i%3)))...)
		}
		b.pass(200 * time.Millisecond)
		b.wantBreaker(planner.Open)
		opened := len(b.seen())
		f.set(nil, 20*time.Second)
		b.pass(5 * time.Second)
		b.wantCalls(opened + 1)
		b.wantBreaker(planner.HalfOpen)
		if d := b.flakyHost(); d.Running != 1 {
			t.Errorf("destination: %+v", d)
		}
		f.set(nil, 0)
		b.pass(16 * time.Second)
		b.wantBreaker(planner.Closed)
		b.wantCalls(opened + 200)
	})
}

func TestFailuresCausedByTasksOpenNoBreaker(t *testing.T) {
	for name, o := range map[string]*task.Outcome{
		"404": notFound, "Retry-After": come, "unsent": {Verdict: task.Unsent},
		"interrupted": {Verdict: task.Interrupted}, "egress": {Verdict: task.Refusal, Reason: "egress_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &flaky{outcome: o, takes: time.Millisecond}
			inBubble(t, Config{BreakerFailures: 3}, nil, f.receive, func(b *bed) {
				b.apply(crowd(t, "t", 10, to("flaky"), stubborn)...)
				b.pass(500 * time.Millisecond)
				b.wantBreaker(planner.Closed)
				if n := len(b.seen()); n < 6 {
					t.Errorf("%d attempts", n)
				}
			})
		})
	}
}

func TestABreakerCanBeTurnedOff(t *testing.T) {
	f := &flaky{outcome: refused}
	inBubble(t, Config{BreakerFailures: -1}, nil, f.receive, func(b *bed) {
		b.create("t", 0, to("flaky"), stubborn)
		b.pass(10 * time.Second)
		if n := len(b.seen()); n < 90 {
			t.Errorf("%d attempts", n)
		}
		b.wantBreaker(planner.Closed)
	})
}

func TestATaskRunByHandCountsAsAProbe(t *testing.T) {
	f := &flaky{outcome: refused}
	inBubble(t, Config{BreakerFailures: 3, BreakerMax: time.Hour}, nil, f.receive, func(b *bed) {
		b.apply(crowd(t, "t", 5, to("flaky"), stubborn)...)
		b.create("by-hand", time.Hour, to("flaky"), stubborn)
		b.create("again", time.Hour, to("flaky"), stubborn)
		b.pass(time.Minute)
		b.wantBreaker(planner.Open)
		until := b.flakyHost().Until
		n := len(b.seen())
		b.apply(task.Run{Key: key("by-hand")})
		b.pass(tick)
		b.wantCalls(n + 1)
		if b.wantBreaker(planner.Open); !b.flakyHost().Until.Equal(until) {
			t.Error("its failure prolonged the wait of the others")
		}
		f.set(nil, 0)
		b.apply(task.Run{Key: key("again")})
		b.pass(time.Second)
		b.wantBreaker(planner.Closed)
		b.wantState("again", task.Delivered)
		b.wantState("t-000000", task.Delivered)
	})
}

func TestAfterAnInterruptedProbeAnotherAttemptMayProbe(t *testing.T) {
	f := &flaky{outcome: refused}
	inBubble(t, Config{BreakerFailures: 3}, nil, f.receive, func(b *bed) {
		b.apply(crowd(t, "t", 5, to("flaky"), stubborn)...)
		b.pass(500 * time.Millisecond)
		b.wantBreaker(planner.Open)
		f.set(&task.Outcome{Verdict: task.Unsent}, 0)
		n := len(b.seen())
		b.pass(2 * time.Second)
		if more := len(b.seen()) - n; more < 3 {
			t.Errorf("%d probes", more)
		}
		b.wantBreaker(planner.HalfOpen)
	})
}

func TestABreakerThatOpensAndClosesIsLoggedWithItsReason(t *testing.T) {
	var log bytes.Buffer
	f := &flaky{outcome: refused}
	c := Config{Slots: 1, BreakerFailures: 3, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	inBubble(t, c, nil, f.receive, func(b *bed) {
		b.apply(crowd(t, "t", 5, to("flaky"), stubborn)...)
		b.pass(20 * time.Second)
		wantLines(t, &log, `level=WARN msg="breaker opened" namespace=default destination=flaky:80 failures=3`, `reason="connection refused" status=0`)
		if n := strings.Count(log.String(), "breaker"); n != 1 {
			t.Errorf("%d lines: a probe that fails changes nothing\n%s", n, log.String())
		}
		f.set(nil, 0)
		b.pass(31 * time.Second)
		wantLines(t, &log, `level=INFO msg="breaker closed" namespace=default destination=flaky:80 open_for=`, `reason="the receiver replied"`)
	})
}

func TestManyOpeningBreakersAreLoggedSparsely(t *testing.T) {
	var log bytes.Buffer
	f := &flaky{outcome: refused}
	c := Config{BreakerFailures: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	inBubble(t, c, nil, f.receive, func(b *bed) {
		slow := retry(task.Retry{MinBackoff: time.Hour, MaxBackoff: time.Hour})
		for i := range 100 {
			b.create(fmt.Sprint("t", i), time.Second, to(fmt.Sprint("flaky", i)), slow)
		}
		b.create("late", 30*time.Second, to("flakylate"), slow)
		b.pass(40 * time.Second)
		if n := strings.Count(log.String(), "breaker opened"); n != sparselog.Most+1 {
			t.Errorf("%d lines, want %d:\n%s", n, sparselog.Most+1, log.String())
		}
		wantLines(t, &log, "destination=flakylate:80", fmt.Sprint("not_logged_before=", 100-sparselog.Most))
	})
}

func wantLines(t *testing.T, log *bytes.Buffer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %s:\n%s", part, log.String())
		}
	}
}
