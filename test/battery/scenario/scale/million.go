package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Million: many tasks due over the next day, imported as by a user.
func Million(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	file := t.Path("tasks.ndjson")
	writeTasks(file, t.Options.Tasks, st.Receiver.URL())
	created, seconds := st.ImportFile(ctx, file)
	rate := float64(created) / seconds
	t.Must(created == t.Options.Tasks, "created %d of %d", created, t.Options.Tasks)
	t.Must(rate >= 20_000, "imported in %.1f s, %.0f a second, at least 20000", seconds, rate)
	mustFit(st, "after the import")
	mustList(ctx, st)
	mustRestart(ctx, st)
	mustList(ctx, st)
	mustFit(st, "after the restart")
	// All is due later: a callback would mean that something else was measured.
	e := st.Evidence()
	t.Must(len(e.Arrived) == 0, "callbacks so far %d, none is due", len(e.Arrived))
	st.Carry(ctx, harness.Phases{Stop: 20 * time.Second})
}

// writeTasks writes a file for import. The tasks are due over a day that begins in
// an hour, so none is delivered during the scenario.
func writeTasks(path string, count int, callback string) {
	start := timing.DueIn(time.Hour)
	harness.Check(harness.WriteInputs(path, count, func(i int) wire.TaskInput {
		in := harness.Task(fmt.Sprintf("order-%07d", i), callback, timing.SpreadOver(start, 24*time.Hour, i, count))
		in.HTTP.Body = json.RawMessage(fmt.Sprintf(`{"order":%d}`, i))
		return in
	}))
}
