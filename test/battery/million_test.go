package main

import (
	"testing"
	"time"
)

func TestAMillionTasksAreAllDueWithinTheDay(t *testing.T) {
	const count, span = 1_000_000, 24 * time.Hour
	last := epoch.Add(-1)
	for i := range count {
		due := spreadOver(epoch, span, i, count)
		if !due.After(last) || due.Before(epoch) || !due.Before(epoch.Add(span)) {
			t.Fatalf("task %d is due at %v, after one at %v", i, due, last)
		}
		last = due
	}
	if short := epoch.Add(span).Sub(last); short > time.Second {
		t.Errorf("the last one is due %v before the day ends", short)
	}
}
