package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	blackoutLoad = 4 * time.Second // how long there is load before the kill
	blackoutWake = 2 * time.Second // from the start to the first overdue task
)

// Blackout: all nodes are killed at once under load, and started after a while.
// During this time tasks come due.
func Blackout(ctx context.Context, t *harness.Run) {
	n := t.StartNodes(ctx, ".", 3)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: harness.LoadRate, DueWithin: blackoutLoad + t.Options.Blackout, CancelShare: t.Options.Cancel}
	var began time.Time
	v := n.Conclude(ctx, harness.Phases{Load: load, WarmUp: blackoutLoad, Attack: func() {
		load.Quit() // requests under way meet dead nodes
		for _, s := range n.Servers {
			n.RecordFault("kill -9", s.KillNow())
		}
		for _, s := range n.Servers {
			s.Reap()
		}
		harness.Pause(ctx, t.Options.Blackout)
		began = time.Now()
		n.StartAll(ctx)
		t.Note("all nodes ready after %s", verify.Millis(time.Since(began)))
	}})
	load.Report(t, v)
	mustWake(n, began)
}

// mustWake judges how soon overdue tasks came after the nodes were started.
func mustWake(n *harness.Environment, began time.Time) {
	e := n.Evidence()
	due := map[string]bool{} // when they were started
	for _, a := range e.Accepted {
		due[a.Name] = a.Due.Before(began)
	}
	count, first, last := 0, time.Duration(-1), time.Duration(0)
	for _, a := range e.Arrived {
		if a.At.Before(began) || !due[a.Name] {
			continue
		}
		since := a.At.Sub(began)
		if count++; first < 0 || since < first {
			first = since
		}
		last = max(last, since)
	}
	n.Run.Must(count > 0 && first <= blackoutWake, "the first of %d overdue tasks came %s after the start, at most %v; the last %s", count, verify.Millis(first), blackoutWake, verify.Millis(last))
}
