package scale

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Overdue: a server that starts again after a day, with all tasks of that day
// overdue. The scenario does not wait a day. It fills the store with an earlier
// time, as a server would have filled it yesterday.
func Overdue(ctx context.Context, t *harness.Run) {
	st := t.PrepareEnvironment(".")
	fast := st.StartFast("127.0.0.1:0")
	const down = 24 * time.Hour
	stopped := time.Now().Add(-down).Truncate(time.Millisecond)
	n := verify.Numbered{Prefix: "overdue", Count: t.Options.Overdue, Due: func(i int) time.Time {
		return timing.SpreadOver(stopped, down, i, t.Options.Overdue).Truncate(time.Millisecond)
	}}
	fill(ctx, st.Server.Dir, n, fast.URL(), stopped)
	began := time.Now()
	harness.Check(st.Server.Start())
	memory := system.WatchMemory(ctx, st.Server.PID())
	defer memory.End()
	ready := harness.OK(st.Server.Ready(ctx, 30*time.Second))
	harness.Check(fast.Await(ctx, n.Count, began, 30*time.Second))
	seen := memory.End()
	st.StopWith(fast)
	v := t.JudgeNumbered(n, fast.Path)
	t.Note("ready after %s; drained in %.1f s, %.0f deliveries a second; memory %v", verify.Millis(ready), v.Last.Sub(v.First).Seconds(), v.Rate, seen)
	first := v.First.Sub(began)
	t.Must(first <= 2*time.Second, "the first one came %s after the start, at most 2 s", verify.Millis(first))
	mustKeepOrder(t, v)
}

// mustKeepOrder compares the order of the deliveries with that of the due
// times. Many attempts are under way at once, so the receiver gets tasks with
// close due times in another order.
func mustKeepOrder(t *harness.Run, v verify.NumberedVerdict) {
	p999 := verify.Percentile(v.Displaced, 99.9)
	t.Must(p999 <= harness.MaxInFlight, "places out of the order of the dues: p99.9 %d, at most the %d that may be in flight; the worst %d", p999, harness.MaxInFlight, verify.Percentile(v.Displaced, 100))
}

// fill makes a store in dir that has accepted tasks by the clock of an instant
// in the past, and was stopped then.
func fill(ctx context.Context, dir string, n verify.Numbered, callback string, accepted time.Time) {
	now := task.CeilMillis(accepted)
	past, err := pebblestore.Open(dir, pebblestore.Config{Now: func() time.Time { return accepted }})
	if err != nil {
		harness.Fatalf("make a store: %w", err)
	}
	defer func() { _ = past.Close() }() // again, unless something went wrong before
	const most = 1000
	err = timing.InParallel((n.Count+most-1)/most, 4, func(b int) error {
		var changes []task.Change
		for i := b * most; i < min((b+1)*most, n.Count); i++ {
			spec := task.DefaultSpec()
			spec.Name, spec.ID = n.Name(i), task.NewID(now)
			spec.Request.URL = callback
			spec.When = task.When{At: task.CeilMillis(n.Due(i))}
			if err := spec.Validate(now); err != nil {
				return err
			}
			changes = append(changes, task.Create{Spec: spec})
		}
		replies, err := past.Transit(ctx, now, store.Changes(changes))
		if err != nil {
			return err
		}
		for _, r := range replies {
			if r.Err != nil {
				return r.Err
			}
		}
		return nil
	})
	if err != nil {
		harness.Fatalf("fill the store: %w", err)
	}
	harness.Check(past.Close())
}
