package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

func TestATaskAfterAQuietTimeWaitsForNoOther(t *testing.T) {
	p := pacer{interval: 2 * time.Millisecond}
	if left := p.left(0); left != 0 {
		t.Errorf("the first task waits %v", left)
	}
	p.begin(time.Second, false)
	if left := p.left(time.Second + 2*time.Millisecond); left != 0 {
		t.Errorf("it waits %v", left)
	}
}

func TestTasksThatComeTogetherShareCalls(t *testing.T) {
	p := pacer{interval: 2 * time.Millisecond}
	p.begin(time.Second, false)
	if left := p.left(time.Second + time.Millisecond/2); left != 3*time.Millisecond/2 {
		t.Errorf("the next call waits %v, not 1.5 ms", left)
	}
}

func TestAfterAFullCallTheNextOneBeginsAtOnce(t *testing.T) {
	p := pacer{interval: 2 * time.Millisecond}
	p.begin(time.Second, false)
	p.begin(time.Second+time.Millisecond, true)
	if left := p.left(time.Second + time.Millisecond); left != 0 {
		t.Errorf("the next call waits %v", left)
	}
}

func TestWithoutGatherNoCallWaits(t *testing.T) {
	var p pacer
	p.begin(time.Second, false)
	if left := p.left(time.Second); left != 0 {
		t.Errorf("it waits %v", left)
	}
}

// A queue with a limit has such tasks: each wait of a claim or a settlement
// would hold its slots longer.
func TestNoCallWaitsWhileDueTasksWait(t *testing.T) {
	const gather = 2 * time.Millisecond
	d := &Dispatcher{config: Config{Gather: gather}, clock: newMonotonicClock()}
	p := pacer{interval: time.Hour}
	p.begin(d.monotonic(), false)
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
