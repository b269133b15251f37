package dispatch

import (
	"testing"
	"time"
)

// gathererAfter returns a gatherer after calls with these numbers of tasks,
// each at the earliest moment.
func gathererAfter(most time.Duration, tasks ...int) (g gatherer, now time.Duration) {
	g, now = gatherer{most: most}, time.Second
	for _, n := range tasks {
		now += g.left(now)
		g.begin(now, n, 256)
	}
	return g, now
}

func TestATaskAfterAQuietTimeWaitsForNoOther(t *testing.T) {
	g, now := gathererAfter(2*time.Millisecond, 9, 9, 9, 9, 9)
	if left := g.left(now + 2*time.Millisecond); left != 0 {
		t.Errorf("it waits %v", left)
	}
	if left := (&gatherer{most: time.Hour}).left(0); left != 0 {
		t.Errorf("the first task waits %v", left)
	}
}

func TestTasksThatComeTogetherShareCalls(t *testing.T) {
	const most = 2 * time.Millisecond
	g, now := gathererAfter(most, 2, 2, 2, 2, 2, 2)
	if left := g.left(now); left != most {
		t.Errorf("the next call waits %v, not %v", left, most)
	}
}

func TestTasksThatComeOneByOneSoonDoNotWait(t *testing.T) {
	g, now := gathererAfter(2*time.Millisecond, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1)
	if left := g.left(now); left != 0 {
		t.Errorf("the next call waits %v", left)
	}
}

func TestAfterAFullCallTheNextOneBeginsAtOnce(t *testing.T) {
	g, now := gathererAfter(2*time.Millisecond, 9, 9, 9, 9, 256)
	if left := g.left(now); left != 0 {
		t.Errorf("the next call waits %v", left)
	}
}

func TestWithoutGatherNoCallWaits(t *testing.T) {
	g, now := gathererAfter(0, 9, 9, 9, 1)
	if left := g.left(now); left != 0 {
		t.Errorf("it waits %v", left)
	}
}
