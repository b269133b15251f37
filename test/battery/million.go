package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// million: many tasks due over the next day, as a user would bring them in.
func million(ctx context.Context, t *harness.Run) error {
	st, err := t.NewEnvironment(ctx)
	if err != nil {
		return err
	}
	defer st.Close()

	file := t.Path("tasks.ndjson")
	if err := writeTasks(file, t.Options.Tasks, st.Receiver.URL()); err != nil {
		return err
	}
	created, seconds, err := st.ImportFile(ctx, file)
	if err != nil {
		return err
	}
	rate := float64(created) / seconds
	t.Must(created == t.Options.Tasks, "created %d of %d", created, t.Options.Tasks)
	t.Must(rate >= 20_000, "imported in %.1f s, %.0f a second, at least 20000", seconds, rate)
	if err := mustFit(st, "after the import"); err != nil {
		return err
	}
	if err := mustList(ctx, st); err != nil {
		return err
	}
	if err := mustRestart(ctx, st); err != nil {
		return err
	}
	if err := mustList(ctx, st); err != nil {
		return err
	}
	if err := mustFit(st, "after the restart"); err != nil {
		return err
	}
	// All is due later: a callback would mean that something else was measured.
	e, err := st.Evidence()
	if err != nil {
		return err
	}
	t.Must(len(e.Arrived) == 0, "callbacks meanwhile %d, none is due", len(e.Arrived))
	return st.Server.Stop(20 * time.Second)
}

// mustRestart restarts the server, which has little to do at its start however much it keeps.
func mustRestart(ctx context.Context, st *harness.Environment) error {
	if err := st.Server.Stop(20 * time.Second); err != nil {
		return err
	}
	if err := st.Server.Start(); err != nil {
		return err
	}
	took, err := st.Server.Ready(ctx, 30*time.Second)
	if err != nil {
		return err
	}
	st.Run.Must(took <= 3*time.Second, "restarted and ready in %s, at most 3 s", verify.Millis(took))
	return nil
}

// writeTasks writes a file for import: due over a day that begins in an hour,
// so that nothing is delivered meanwhile.
func writeTasks(path string, count int, callback string) error {
	start := timing.DueIn(time.Hour)
	return harness.WriteInputs(path, count, func(i int) wire.TaskInput {
		in := harness.Task(fmt.Sprintf("order-%07d", i), callback, timing.SpreadOver(start, 24*time.Hour, i, count))
		in.HTTP.Body = json.RawMessage(fmt.Sprintf(`{"order":%d}`, i))
		return in
	})
}

// mustFit holds the server's memory against what is promised.
func mustFit(st *harness.Environment, when string) error {
	const promised = 400 << 20
	now, peak, err := st.Server.Memory()
	if err != nil {
		return err
	}
	st.Run.Must(peak <= promised, "memory %s: %d MB now, %d MB at most; promised 400", when, now>>20, peak>>20)
	return nil
}

// mustList pages through some of the list and holds the slowest page against
// what is promised.
func mustList(ctx context.Context, st *harness.Environment) error {
	const pages, size, promised = 200, 100, 50 * time.Millisecond
	var times []time.Duration
	query := url.Values{"limit": {fmt.Sprint(size)}}
	for range pages {
		began := time.Now()
		status, data, err := st.Client.Call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil)
		took := time.Since(began)
		if err != nil {
			return err
		}
		var page wire.TaskList
		if err := json.Unmarshal(data, &page); err != nil || status != http.StatusOK || len(page.Tasks) != size {
			return fmt.Errorf("list: status %d, %d tasks: %.200s", status, len(page.Tasks), data)
		}
		times = append(times, took)
		query.Set("cursor", page.NextCursor)
	}
	slices.Sort(times)
	slowest := verify.Percentile(times, 100)
	st.Run.Must(slowest < promised, "%d pages of %d: p50 %s, the slowest took %s, promised under 50 ms", pages, size, verify.Millis(verify.Percentile(times, 50)), verify.Millis(slowest))
	return nil
}
