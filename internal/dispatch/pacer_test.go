package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
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

// A queue with a limit has such tasks: each wait of a claim or a settlement
// would hold its slots longer.
func TestNoCallWaitsWhileDueTasksWait(t *testing.T) {
	const gather = 2 * time.Millisecond
	d := &Dispatcher{config: Config{Gather: gather}, clock: newMonotonicClock()}
	p, _ := pacerAfter(time.Hour, 9, 9, 9, 9, 9, 9, 9)
	p.began = d.monotonic() + time.Hour
	ended, end := context.WithCancel(t.Context())
	end()
	if d.gather(ended, &p) {
		t.Error("without a backlog a call does not wait")
	}
	now := task.Millis(1_800_000_000_000)
	d.backlog.note(d.monotonic(), now, []planner.Pick{{Due: now - 10}, {Due: now}}, gather)
	if d.backlog.exists(d.monotonic()) {
		t.Error("a task that is 10 ms late is a backlog")
	}
	d.backlog.note(d.monotonic(), now, []planner.Pick{{Due: now}, {Due: now - 11}}, gather)
	at := d.monotonic()
	if !d.backlog.exists(at) || d.backlog.exists(at+holdFor*gather) {
		t.Error("a task that is 11 ms late is no backlog, or one for too long")
	}
	d.backlog.until.Store(int64(time.Hour))
	if !d.gather(t.Context(), &p) {
		t.Error("with a backlog a call ended early")
	}
}
