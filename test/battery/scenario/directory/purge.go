package directory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Purge: a queue is purged while it delivers. After the reply no task of it starts,
// except tasks that are created later. Another queue is not affected.
func Purge(ctx context.Context, t *harness.Run) error {
	st, err := t.NewEnvironment(ctx)
	if err != nil {
		return err
	}
	defer st.Close()

	const count, perSecond = 20_000, 1000
	start := timing.DueIn(5 * time.Second)
	doomed, err := st.ScheduleIn(ctx, "doomed", count, "doomed", func(i int) time.Time { return start.Add(time.Duration(i) * time.Second / perSecond) })
	if err != nil {
		return err
	}
	neighbours, err := st.ScheduleIn(ctx, "neighbours", 1000, "neighbour", func(i int) time.Time { return start.Add(time.Duration(i) * 6 * time.Millisecond) })
	if err != nil {
		return err
	}
	if !timing.Until(ctx, start.Add(3*time.Second)) {
		return ctx.Err()
	}
	asked := time.Now()
	if err := st.Client.PurgeQueue(ctx, "doomed"); err != nil {
		return err
	}
	purged := time.Now()
	late, err := st.ScheduleIn(ctx, "doomed", 1000, "later", func(int) time.Time { return timing.DueIn(time.Second) })
	if err != nil {
		return err
	}
	took, err := awaitPurge(ctx, st, "doomed")
	if err != nil {
		return err
	}
	missing := st.Receiver.AwaitAll(ctx, append(late, neighbours...), 20*time.Second)
	t.Must(missing == 0, "delivered although the queue was purged, as they came later or are not of it: %d of %d", len(late)+len(neighbours)-missing, len(late)+len(neighbours))
	if err := mustBePurged(ctx, st, doomed[count-100:]); err != nil {
		return err
	}
	if err := purgeRounds(ctx, st, 200); err != nil {
		return err
	}
	if err := st.Server.Stop(10 * time.Second); err != nil {
		return err
	}
	e, err := st.Evidence()
	if err != nil {
		return err
	}
	v := verify.CheckPurge(e, asked, purged, doomed)
	t.Note("the purge was answered after %s, and done %s later", verify.Millis(purged.Sub(asked)), verify.Millis(took))
	t.Must(len(v.Lost) == 0, "due before the purge and lost %d%s", len(v.Lost), verify.Examples(v.Lost))
	t.Must(len(v.After) == 0, "arrived later than %s after the answer %d%s", verify.Millis(verify.WireDelay), len(v.After), verify.Examples(v.After))
	t.Must(v.Before > 0 && v.Before < count, "delivered before the purge %d of %d; under way during it %d", v.Before, count, v.UnderWay)
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	return nil
}

// awaitPurge returns how long after the answer the purge was done.
func awaitPurge(ctx context.Context, st *harness.Environment, queue string) (time.Duration, error) {
	began := time.Now()
	for time.Since(began) < 30*time.Second {
		q, err := st.Client.GetQueue(ctx, queue)
		if err != nil {
			return 0, err
		}
		if !q.Purging {
			return time.Since(began), nil
		}
		if !timing.Pause(ctx, 10*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
	return 0, errors.New("the purge was not done within 30 s")
}

// mustBePurged checks the state of tasks that were not due yet.
func mustBePurged(ctx context.Context, st *harness.Environment, names []string) error {
	purged := 0
	for _, name := range names {
		task, err := st.Client.Get(ctx, name)
		if err != nil {
			return err
		}
		if task.State == "cancelled" && task.Reason == "purged" {
			purged++
		}
	}
	st.Run.Must(purged == len(names), "shown as cancelled, purged: %d of %d", purged, len(names))
	return nil
}

// purgeRounds creates a task right after the answer to a purge, again and
// again: each is younger than its purge, be it by less than a millisecond.
func purgeRounds(ctx context.Context, st *harness.Environment, rounds int) error {
	var names []string
	for i := range rounds {
		in := harness.Task(fmt.Sprintf("right-after-%d", i), st.Receiver.URL(), timing.DueIn(0))
		in.Queue = fmt.Sprintf("purged-%d", i)
		if err := st.Client.PutQueue(ctx, in.Queue, wire.QueueInput{}); err != nil { // an unknown queue cannot be purged
			return err
		}
		if err := st.Client.PurgeQueue(ctx, in.Queue); err != nil {
			return err
		}
		if err := st.Client.Do(ctx, http.MethodPost, "/tasks", in, nil); err != nil {
			return err
		}
		names = append(names, in.Name)
	}
	missing := st.Receiver.AwaitAll(ctx, names, 10*time.Second)
	st.Run.Must(missing == 0, "created right after a purge and delivered: %d of %d", rounds-missing, rounds)
	return nil
}
