package namespaces

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// later is when tasks are due that an attack only reads or changes.
func later() time.Time { return timing.DueIn(24 * time.Hour) }

// seed creates tasks that are not due during the attack.
func (a *attacker) seed(ctx context.Context, count int, edit func(i int, in *wire.TaskInput)) error {
	tasks := make([]wire.TaskInput, count)
	for i := range tasks {
		tasks[i] = harness.Task(fmt.Sprintf("seed-%d", i), "http://"+a.order.Callback+"/", later())
		if edit != nil {
			edit(i, &tasks[i])
		}
	}
	return a.writer().CreateAll(ctx, tasks)
}

// text returns a JSON string of n characters.
func text(char string, n int) json.RawMessage {
	data, err := json.Marshal(strings.Repeat(char, n))
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return data
}

// bigPages makes tasks for a list that is as large as a page can be: each byte of
// their bodies takes six in a reply.
func bigPages(ctx context.Context, a *attacker) error {
	body := text("\x01", 256<<10)
	for i := range 20 { // one at a time: a batch of them would be too large
		in := harness.Task(fmt.Sprintf("seed-%d", i), "http://"+a.order.Callback+"/", later())
		in.HTTP.Body = body
		if _, err := a.writer().Create(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// fullPages makes a page of 1,000 tasks with 2 KB each.
func fullPages(ctx context.Context, a *attacker) error {
	body := text("x", 2000)
	return a.seed(ctx, 1000, func(_ int, in *wire.TaskInput) { in.HTTP.Body = body })
}

const listWithBodies = wire.Version + "/tasks?limit=1000&include=body"

func lists(ctx context.Context, a *attacker) {
	hammer(ctx, 200, func(int, int) bool { return a.ask(ctx, http.MethodGet, listWithBodies, nil) != 0 })
}

// busyQueues makes 20,000 overdue tasks in 5,000 queues, which the server
// knows in memory: the port that they call is closed.
func busyQueues(ctx context.Context, a *attacker) error {
	return a.seed(ctx, 20_000, func(i int, in *wire.TaskInput) {
		in.Queue, in.HTTP.URL, in.At = fmt.Sprintf("busy-%d", i%5000), "http://127.0.0.1:1/", wire.FormatTime(timing.DueIn(0))
	})
}

func live(ctx context.Context, a *attacker) {
	hammer(ctx, 64, func(int, int) bool { return a.ask(ctx, http.MethodGet, wire.Version+"/live", nil) != 0 })
}

// manyTasks makes tasks. Searches read them and do not find a match.
func manyTasks(ctx context.Context, a *attacker) error { return a.seed(ctx, 20_000, nil) }

func searches(ctx context.Context, a *attacker) {
	kinds := []struct{ method, url string }{
		{http.MethodGet, "/tasks?label=there=none&limit=1000"},
		{http.MethodGet, "/audit?target=none&limit=1000"},
		{http.MethodPost, "/tasks/cancel?label=there=none"},
	}
	hammer(ctx, 48, func(worker, _ int) bool {
		k := kinds[worker%len(kinds)]
		return a.ask(ctx, k.method, wire.Version+k.url, nil) != 0
	})
}

func openapi(ctx context.Context, a *attacker) {
	hammer(ctx, 128, func(int, int) bool { return a.ask(ctx, http.MethodGet, "/openapi.json", nil) != 0 })
}
