package scale

import (
	"testing"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
)

func TestAMillionTasksAreAllDueWithinTheDay(t *testing.T) {
	const count, span = 1_000_000, 24 * time.Hour
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	last := start.Add(-1)
	for i := range count {
		due := timing.SpreadOver(start, span, i, count)
		if !due.After(last) || due.Before(start) || !due.Before(start.Add(span)) {
			t.Fatalf("task %d is due at %v, after one at %v", i, due, last)
		}
		last = due
	}
	if short := start.Add(span).Sub(last); short > time.Second {
		t.Errorf("the last one is due %v before the day ends", short)
	}
}
