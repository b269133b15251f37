package directory

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Purge: a queue is purged while it delivers. After the reply no task of it starts,
// except tasks that are created later. Another queue is not affected.
func Purge(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	const count, perSecond = 20_000, 1000
	start := timing.DueIn(5 * time.Second)
	doomed := st.ScheduleIn(ctx, "doomed", count, "doomed", func(i int) time.Time { return start.Add(time.Duration(i) * time.Second / perSecond) })
	neighbours := st.ScheduleIn(ctx, "neighbours", 1000, "neighbour", func(i int) time.Time { return start.Add(time.Duration(i) * 6 * time.Millisecond) })
	harness.Until(ctx, start.Add(3*time.Second))
	asked := time.Now()
	harness.Check(st.Client.Do(ctx, http.MethodPost, "/queues/doomed/purge", nil, nil))
	purged := time.Now()
	late := st.ScheduleIn(ctx, "doomed", 1000, "later", func(int) time.Time { return timing.DueIn(time.Second) })
	took := awaitPurge(ctx, st, "doomed")
	missing := st.Receiver.AwaitAll(ctx, append(late, neighbours...), 20*time.Second)
	t.Must(missing == 0, "delivered, because they were created after the purge or are in another queue: %d of %d", len(late)+len(neighbours)-missing, len(late)+len(neighbours))
	mustBePurged(ctx, st, doomed[count-100:])
	st.Carry(ctx, harness.Phases{})
	e := st.Evidence()
	v := verify.CheckPurge(e, asked, purged, doomed)
	t.Note("the purge was answered after %s, and done %s later", verify.Millis(purged.Sub(asked)), verify.Millis(took))
	t.Must(len(v.Lost) == 0, "due before the purge and lost %d%s", len(v.Lost), verify.Examples(v.Lost))
	t.Must(len(v.After) == 0, "arrived later than %s after the answer %d%s", verify.Millis(verify.WireDelay), len(v.After), verify.Examples(v.After))
	t.Must(v.Before > 0 && v.Before < count, "delivered before the purge %d of %d; under way during it %d", v.Before, count, v.UnderWay)
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
}

// awaitPurge waits until the purge is done, and returns how long that took.
func awaitPurge(ctx context.Context, st *harness.Environment, queue string) time.Duration {
	began := time.Now()
	for time.Since(began) < 30*time.Second {
		q := harness.OK(st.Client.GetQueue(ctx, queue))
		if !q.Purging {
			return time.Since(began)
		}
		harness.Pause(ctx, 10*time.Millisecond)
	}
	harness.Check(errors.New("the purge was not done within 30 s"))
	return 0
}

// mustBePurged checks the state of tasks that were not due yet.
func mustBePurged(ctx context.Context, st *harness.Environment, names []string) {
	purged := 0
	for _, name := range names {
		task := harness.OK(st.Client.Get(ctx, name))
		if task.State == "cancelled" && task.Reason == "purged" {
			purged++
		}
	}
	st.Run.Must(purged == len(names), "shown as cancelled, purged: %d of %d", purged, len(names))
}
