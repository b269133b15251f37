package planner

import (
	"testing"
	"time"
)

func TestATaskAgesWhileOnlyItsReceiverDelaysIt(t *testing.T) {
	const s = time.Second
	pl := New(Config{Window: 5 * s, Tasks: 1000, BreakAfter: 1, BreakMost: time.Minute}, 10)
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
		pl.Slow(&Pick{lane: l, picked: at}, noon, 0)
	}
	want("Retry-After: 0, again and again: a rate kept it back", 20*s, 0)
	pl.Slow(&Pick{lane: l, picked: 19 * s}, noon, 60*s)
	want("a delay", 80*s, 60*s)
	pl.Tick(90 * s)
	pl.Slow(&Pick{lane: l, picked: 80 * s}, noon, 60*s)
	want("a delay that follows", 150*s, 130*s)
	want("long after the delay: another reason made it wait", 160*s, 0)
	pl.Slow(&Pick{lane: l, picked: 160 * s}, noon, 60*s)
	want("a new delay", 220*s, 60*s)
	l.destination.recordAttempt(&Pick{}, Deferred, 220*s, pl.config)
	want("after the reply that asked for a delay", 220*s, 60*s)
	l.destination.recordAttempt(&Pick{}, Replied, 215*s, pl.config)
	want("the receiver took something", 220*s, 5*s)
	pl.Tick(300 * s)
	l.destination.recordAttempt(&Pick{}, Failing, 300*s, pl.config)
	want("a breaker", 400*s, 100*s)
	pl.Slow(&Pick{lane: l, picked: 400 * s}, noon, 60*s)
	l.destination.recordAttempt(&Pick{}, Deferred, 400*s, pl.config)
	want("a delay that closes the breaker", 460*s, 160*s)
	pl.hold(l.queue, noon, true, false)
	pl.hold(l.queue, noon, false, false)
	want("after a pause", 460*s, 0)
}
