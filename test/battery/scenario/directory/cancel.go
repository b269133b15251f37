package directory

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Cancel: the race between a cancel and its task's due time, many times over.
func Cancel(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	const count, spread = 10_000, 20 * time.Second
	start := timing.DueIn(3 * time.Second)
	dues := make([]time.Time, count)
	names := st.Schedule(ctx, count, "cancel", func(i int) time.Time {
		dues[i] = start.Add(time.Duration(i) * spread / count).Truncate(time.Millisecond)
		return dues[i]
	})
	statuses := cancelAround(ctx, st, names, dues, 5*time.Millisecond)
	v := st.Conclude(ctx, harness.Phases{Quiet: 2 * time.Second})
	t.Note("cancels answered 200: %d, 202: %d, 409: %d", statuses[http.StatusOK], statuses[http.StatusAccepted], statuses[http.StatusConflict])
	t.Must(statuses[http.StatusOK]+statuses[http.StatusAccepted]+statuses[http.StatusConflict] == count, "cancels answered by one of these %d", count)
	t.Must(statuses[http.StatusOK] > count/20 && statuses[http.StatusOK] < count, "the race was a race: some cancels won, some lost")
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
}

// cancelAround cancels each task at its due time, give or take within, and
// returns how often each status was answered.
func cancelAround(ctx context.Context, st *harness.Environment, names []string, dues []time.Time, within time.Duration) map[int]int {
	var mu sync.Mutex // guards statuses
	statuses := map[int]int{}
	// Each worker has every 512th task: they are due a second apart, so that no
	// cancel waits for the one before it.
	const workers = 512
	harness.Check(timing.InParallel(workers, workers, func(w int) error {
		dice := rand.New(rand.NewPCG(st.Run.Options.Seed, uint64(w)))
		for i := w; i < len(names); i += workers {
			if !timing.Until(ctx, dues[i].Add(time.Duration(dice.Int64N(int64(2*within)))-within)) {
				return ctx.Err()
			}
			status := st.Client.Cancel(ctx, names[i])
			at := time.Now()
			mu.Lock()
			statuses[status]++
			mu.Unlock()
			if err := st.Cancelled.Append(verify.Cancelled{Name: names[i], Status: status, At: at}); err != nil {
				return err
			}
		}
		return nil
	}))
	return statuses
}
