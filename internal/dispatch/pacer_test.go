package dispatch

import (
	"testing"
	"time"
)

// pacerAfter returns a pacer after calls with these numbers of tasks,
// each at the earliest moment.
func pacerAfter(most time.Duration, tasks ...int) (p pacer, now time.Duration) {
	p, now = pacer{maxInterval: most}, time.Second
	for _, n := range tasks {
		now += p.left(now)
		p.begin(now, n, 256)
	}
	return p, now
}

func TestATaskAfterAQuietTimeWaitsForNoOther(t *testing.T) {
	p, now := pacerAfter(2*time.Millisecond, 9, 9, 9, 9, 9)
	if left := p.left(now + 2*time.Millisecond); left != 0 {
		t.Errorf("it waits %v", left)
	}
	if left := (&pacer{maxInterval: time.Hour}).left(0); left != 0 {
		t.Errorf("the first task waits %v", left)
	}
}

func TestTasksThatComeTogetherShareCalls(t *testing.T) {
	const most = 2 * time.Millisecond
	p, now := pacerAfter(most, 2, 2, 2, 2, 2, 2)
	if left := p.left(now); left != most {
		t.Errorf("the next call waits %v, not %v", left, most)
	}
}

func TestTasksThatComeOneByOneSoonDoNotWait(t *testing.T) {
	p, now := pacerAfter(2*time.Millisecond, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1)
	if left := p.left(now); left != 0 {
		t.Errorf("the next call waits %v", left)
	}
}

func TestAfterAFullCallTheNextOneBeginsAtOnce(t *testing.T) {
	p, now := pacerAfter(2*time.Millisecond, 9, 9, 9, 9, 256)
	if left := p.left(now); left != 0 {
		t.Errorf("the next call waits %v", left)
	}
}

func TestWithoutGatherNoCallWaits(t *testing.T) {
	p, now := pacerAfter(0, 9, 9, 9, 1)
	if left := p.left(now); left != 0 {
		t.Errorf("it waits %v", left)
	}
}
