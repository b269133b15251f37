package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

func TestCallsThatComeTogetherWait(t *testing.T) {
	const gather = 2 * time.Millisecond
	for what, c := range map[string]struct {
		interval, after time.Duration
		full            bool
		left            time.Duration
	}{
		"after a quiet time":       {gather, gather, false, 0},
		"soon after the last call": {gather, gather / 4, false, gather * 3 / 4},
		"after a full call":        {gather, 0, true, 0},
		"if there is no interval":  {0, 0, false, 0},
	} {
		p := pacer{interval: c.interval}
		if left := p.left(0); left != 0 {
			t.Errorf("%s: the first call waits %v", what, left)
		}
		p.begin(time.Second, c.full)
		if left := p.left(time.Second + c.after); left != c.left {
			t.Errorf("%s: the next call waits %v, want %v", what, left, c.left)
		}
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

// A call of a slow store carries fewer items, so that it lasts about callLasts.
func TestACallOfASlowStoreCarriesFewerItems(t *testing.T) {
	b := batchSize{alone: 256, shared: 24}
	for _, c := range []struct {
		fixed, cost time.Duration
		want        int
	}{
		{time.Millisecond / 16, 0, 256},
		{time.Millisecond / 16, 20 * time.Microsecond, 256},
		{time.Millisecond / 16, 100 * time.Microsecond, 100},
		{time.Millisecond / 16, time.Millisecond, 24},
		{20 * time.Millisecond, 20 * time.Microsecond, 256}, // smaller calls would only be more
		{20 * time.Millisecond, 200 * time.Microsecond, 105},
		{20 * time.Millisecond, time.Millisecond, 32},
	} {
		p := pacer{batch: b}
		for at := time.Duration(0); at < time.Minute || p.calls%fewEvery != 2; {
			n := p.room(false)
			p.begin(at, true)
			at += time.Duration(n)*c.cost + c.fixed
			p.end(at, n)
		}
		if n := p.room(false); n > c.want*11/10 || n < c.want*9/10 {
			t.Errorf("with %v, and %v an item, a call carries %d, want %d", c.fixed, c.cost, n, c.want)
		}
		if n := p.room(true); n != b.shared {
			t.Errorf("with several namespaces it carries %d", n)
		}
	}
}
