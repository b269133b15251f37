package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// million: many tasks due over the next day, as a user would bring them in.
func million(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()

	file := t.path("tasks.ndjson")
	if err := writeTasks(file, t.opts.tasks, st.receiver.URL()); err != nil {
		return err
	}
	created, seconds, err := st.importFile(ctx, file)
	if err != nil {
		return err
	}
	rate := float64(created) / seconds
	t.must(created == t.opts.tasks, "created %d of %d", created, t.opts.tasks)
	t.must(rate >= 20_000, "imported in %.1f s, %.0f a second, at least 20000", seconds, rate)
	if err := st.mustFit("after the import"); err != nil {
		return err
	}
	if err := st.mustList(ctx); err != nil {
		return err
	}
	if err := st.mustRestart(ctx); err != nil {
		return err
	}
	if err := st.mustList(ctx); err != nil {
		return err
	}
	if err := st.mustFit("after the restart"); err != nil {
		return err
	}
	// All is due later: a callback would mean that something else was measured.
	e, err := st.evidence()
	if err != nil {
		return err
	}
	t.must(len(e.Arrived) == 0, "callbacks meanwhile %d, none is due", len(e.Arrived))
	return st.server.stop(20 * time.Second)
}

// mustRestart restarts the server, which has little to do at its start however much it keeps.
func (st *stage) mustRestart(ctx context.Context) error {
	if err := st.server.stop(20 * time.Second); err != nil {
		return err
	}
	if err := st.server.start(); err != nil {
		return err
	}
	took, err := st.server.ready(ctx, 30*time.Second)
	if err != nil {
		return err
	}
	st.t.must(took <= 3*time.Second, "restarted and ready in %s, at most 3 s", verify.Millis(took))
	return nil
}

// writeTasks writes a file for import: due over a day that begins in an hour,
// so that nothing is delivered meanwhile.
func writeTasks(path string, count int, callback string) error {
	start := timing.DueIn(time.Hour)
	return writeInputs(path, count, func(i int) wire.TaskInput {
		in := input(fmt.Sprintf("order-%07d", i), callback, timing.SpreadOver(start, 24*time.Hour, i, count))
		in.HTTP.Body = json.RawMessage(fmt.Sprintf(`{"order":%d}`, i))
		return in
	})
}

// writeInputs writes a file for import.
func writeInputs(path string, count int, of func(i int) wire.TaskInput) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	for i := range count {
		if err := enc.Encode(of(i)); err != nil {
			return err
		}
	}
	return w.Flush()
}

// importFile runs foliot import and returns what it says; the time is ours.
func (st *stage) importFile(ctx context.Context, file string) (created int, seconds float64, err error) {
	var reply struct{ Created int }
	began := time.Now()
	err = st.foliot(ctx, &reply, "import", file, "--server", st.server.url())
	return reply.Created, time.Since(began).Seconds(), err
}

// mustFit holds the server's memory against what is promised.
func (st *stage) mustFit(when string) error {
	const promised = 400 << 20
	now, peak, err := st.server.memory()
	if err != nil {
		return err
	}
	st.t.must(peak <= promised, "memory %s: %d MB now, %d MB at most; promised 400", when, now>>20, peak>>20)
	return nil
}

// mustList pages through some of the list and holds the slowest page against
// what is promised.
func (st *stage) mustList(ctx context.Context) error {
	const pages, size, promised = 200, 100, 50 * time.Millisecond
	var times []time.Duration
	query := url.Values{"limit": {fmt.Sprint(size)}}
	for range pages {
		began := time.Now()
		status, data, err := st.client.call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil)
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
	st.t.must(slowest < promised, "%d pages of %d: p50 %s, the slowest took %s, promised under 50 ms", pages, size, verify.Millis(verify.Percentile(times, 50)), verify.Millis(slowest))
	return nil
}
