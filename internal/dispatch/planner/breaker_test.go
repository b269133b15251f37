package planner

import (
	"testing"
	"time"
)

func TestAnAttemptFromBeforeTheBreakerOpenedDoesNotChangeIt(t *testing.T) {
	r := Config{BreakAfter: 2, BreakMost: time.Minute}
	target := &destination{class: unknown}
	target.recordAttempt(&Pick{}, Silent, 0, r)
	target.recordAttempt(&Pick{}, Silent, 0, r)
	if !target.breaker.open {
		t.Fatal("it is closed")
	}
	until := target.breaker.until
	target.recordAttempt(&Pick{}, Silent, until-1, r) // began before it opened
	target.recordAttempt(&Pick{probe: 7}, Failing, until-1, r)
	if target.breaker.until != until {
		t.Error("an attempt that began before prolonged the wait")
	}
	target.breaker.probe = 9
	target.recordAttempt(&Pick{}, Silent, until, r)
	if target.breaker.probe != 9 || target.breaker.until != until {
		t.Error("an attempt that is no probe ended the probe")
	}
	target.recordAttempt(&Pick{probe: 9}, Nothing, until, r)
	if target.breaker.probe != 0 || target.breaker.state(until) != HalfOpen {
		t.Errorf("a probe without evidence left %+v", target.breaker)
	}
	target.recordAttempt(&Pick{}, Replied, until, r)
	target.recordAttempt(&Pick{probe: 9}, Silent, until, r)
	if target.breaker.open {
		t.Error("one failure after a reply opened it")
	}
}
