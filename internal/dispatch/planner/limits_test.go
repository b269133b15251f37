package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func TestClockStepsDoNotChangeARate(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 100})
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Rate: 1, Burst: 3}))
	now, started := noon, 0
	for i := range 60 {
		pl.Tick(time.Duration(i) * time.Second)
		now += []task.Millis{0, 3_600_000, -3_600_000, -86_400_000}[i%4] + 1000
		pl.check(now)
		for j := range 5 {
			pl.Hint(now, entry("host", fmt.Sprint("t", i, "-", j), now-1))
		}
		started += len(names(pl, now, 100))
	}
	if started != 3+59 {
		t.Errorf("%d have started within 59 s", started)
	}
}

func TestALimitThatHasJustEndedIsNotReported(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 100})
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Rate: 1, Burst: 1}))
	pl.Tick(0)
	for i := range 5 {
		pl.Hint(noon, entry("host", fmt.Sprint("t", i), noon))
	}
	picks := pl.Take(noon, 1)
	pl.Begin(&picks[0])
	limit := func() Limit { return pl.Queues(noon.Time(), func(int) time.Time { return noon.Time() })[0].Limit }
	if l := limit(); l != LimitRate {
		t.Errorf("the limit is %q, want %q", l, LimitRate)
	}
	pl.Tick(time.Second) // the wake-up comes a moment later
	if l := limit(); l != noLimit {
		t.Errorf("the limit is %q although the queue has a token", l)
	}
}

func TestATaskAgesWhileOnlyItsReceiverDelaysIt(t *testing.T) {
	const s = time.Second
	pl := New(Config{Window: 5 * s, Tasks: 1000, BreakAfter: 1, BreakMost: time.Minute, Slots: 10})
	pl.Tick(10 * s)
	pl.Hint(noon, entry("host", "t", noon))
	l := pl.lanes[laneOf("host")]
	want := func(what string, at, delayed time.Duration) {
		t.Helper()
		if got := l.destination.delayedFor(l.queue.free, at); got != delayed {
			t.Errorf("%s: delayed for %v, want %v", what, got, delayed)
		}
		pl.Tick(at)
	}
	want("no delay yet", 20*s, 0)
	for at := 11 * s; at <= 20*s; at += s {
		pl.Tick(at)
		pl.Slow(&Pick{lane: l, picked: at}, 0)
	}
	want("Retry-After: 0, again and again: a rate kept it back", 20*s, 0)
	pl.Slow(&Pick{lane: l, picked: 19 * s}, 60*s)
	want("a delay", 80*s, 60*s)
	pl.Tick(90 * s)
	pl.Slow(&Pick{lane: l, picked: 80 * s}, 60*s)
	want("a delay that follows", 150*s, 130*s)
	want("long after the delay: another reason made it wait", 160*s, 0)
	pl.Slow(&Pick{lane: l, picked: 160 * s}, 60*s)
	want("a new delay", 220*s, 60*s)
	pl.limits.attempted(l.destination, &Pick{}, Snoozed, 220*s, nil)
	want("after the reply that asked for a delay", 220*s, 60*s)
	pl.limits.attempted(l.destination, &Pick{}, Replied, 215*s, nil)
	want("the receiver took something", 220*s, 5*s)
	pl.Tick(300 * s)
	pl.limits.attempted(l.destination, &Pick{}, Failing, 300*s, nil)
	want("a breaker", 400*s, 100*s)
	pl.Slow(&Pick{lane: l, picked: 400 * s}, 60*s)
	pl.limits.attempted(l.destination, &Pick{}, Snoozed, 400*s, nil)
	want("a delay that closes the breaker", 460*s, 160*s)
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Paused: true}))
	pl.Configure(noon, nil)
	want("after a pause", 460*s, 0)
}

func TestAnAttemptFromBeforeTheBreakerOpenedDoesNotChangeIt(t *testing.T) {
	l := limits{breakAfter: 2, breakMost: time.Minute}
	target := &destination{class: unknown}
	l.attempted(target, &Pick{}, Silent, 0, nil)
	l.attempted(target, &Pick{}, Silent, 0, nil)
	if !target.breaker.open {
		t.Fatal("it is closed")
	}
	until := target.breaker.until
	l.attempted(target, &Pick{}, Silent, until-1, nil) // began before it opened
	l.attempted(target, &Pick{probe: 7}, Failing, until-1, nil)
	if target.breaker.until != until {
		t.Error("an attempt that began before prolonged the wait")
	}
	target.breaker.probe = 9
	l.attempted(target, &Pick{}, Silent, until, nil)
	if target.breaker.probe != 9 || target.breaker.until != until {
		t.Error("an attempt that is no probe ended the probe")
	}
	l.attempted(target, &Pick{probe: 9}, Nothing, until, nil)
	if target.breaker.probe != 0 || target.breaker.state(until) != HalfOpen {
		t.Errorf("a probe without evidence left %+v", target.breaker)
	}
	l.attempted(target, &Pick{}, Replied, until, nil)
	l.attempted(target, &Pick{probe: 9}, Silent, until, nil)
	if target.breaker.open {
		t.Error("one failure after a reply opened it")
	}
}
