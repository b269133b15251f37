package namespaces

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// largeOccurrences makes schedules that fire each second. Their tasks have the
// largest body there is, and stay: the host that they call never answers.
func largeOccurrences(ctx context.Context, a *attacker) error {
	body := harness.RandomString(0, 1<<20)
	for i := range 9 {
		err := a.writer().PutSchedule(ctx, fmt.Sprintf("large-%d", i), wire.ScheduleInput{
			ScheduleRule: wire.ScheduleRule{Every: "1s", Missed: "fire_all"},
			Task:         wire.ScheduledTask{Timeout: "1h", HTTP: wire.HTTPInput{URL: "http://" + a.order.Callback + "/", Body: body}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const fewSeeds = 50

// fewTasks makes the tasks that are changed again and again.
func fewTasks(ctx context.Context, a *attacker) error {
	return a.seed(ctx, fewSeeds, func(i int, in *wire.TaskInput) {
		in.At, in.Delay, in.HTTP.Body = "", "24h", patchedBody(i)
	})
}

// patchedBody returns one of several bodies of the same length.
func patchedBody(i int) json.RawMessage { return harness.RandomString(i%26, 8<<10) }

func touches(ctx context.Context, a *attacker) {
	hammer(ctx, 64, func(worker, i int) bool {
		return a.ask(ctx, http.MethodPost, fmt.Sprintf("%s/tasks/seed-%d/touch", wire.Version, (worker+i)%fewSeeds), nil) != 0
	})
}

func patches(ctx context.Context, a *attacker) {
	var bodies [26][]byte
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, `{"http":{"body":%s}}`, patchedBody(i))
	}
	hammer(ctx, 64, func(worker, i int) bool {
		url := fmt.Sprintf("%s/tasks/seed-%d", wire.Version, (worker+i)%fewSeeds)
		return a.ask(ctx, http.MethodPatch, url, bodies[(worker+i)%len(bodies)]) != 0
	})
}

// fillDisk creates and changes tasks, half of each.
func fillDisk(ctx context.Context, a *attacker) {
	stop := timing.InBackground(ctx, func(ctx context.Context) { patches(ctx, a) })
	defer stop()
	body, err := json.Marshal(wire.TaskInput{Delay: "24h", HTTP: wire.HTTPInput{URL: "http://" + a.order.Callback + "/", Body: harness.RandomString(0, 16<<10)}})
	if err != nil {
		panic(err) // nothing in it can fail to be encoded
	}
	hammer(ctx, 64, func(int, int) bool { return a.ask(ctx, http.MethodPost, wire.Version+"/tasks", body) != 0 })
}

// imports creates tasks for tomorrow, each with a small body.
func imports(ctx context.Context, a *attacker) {
	hammer(ctx, 8, func(worker, i int) bool {
		tasks := make([]wire.TaskInput, 1000)
		for k := range tasks {
			tasks[k] = wire.TaskInput{Name: fmt.Sprintf("import-%d-%d-%d", worker, i, k), Delay: "24h", HTTP: wire.HTTPInput{URL: "http://" + a.order.Callback + "/", Body: json.RawMessage(`{"order":1}`)}}
		}
		body, err := json.Marshal(map[string]any{"tasks": tasks})
		return err == nil && a.ask(ctx, http.MethodPost, wire.Version+"/tasks/batch", body) != 0
	})
}

// batchBytes is a little less than the maximum size of a request.
const batchBytes = 16<<20 - 1024

// wideBatches makes batches of one task that is far too large, in ways that are
// costly to decode whole.
func wideBatches(_ context.Context, a *attacker) error {
	a.batches = [][]byte{
		wideBatch(`"http":{"url":"http://127.0.0.1/","body":"`, `\u0001`, `"}`),
		wideBatch(`"labels":{`, `"%07d":"",`, `"":""}`),
		wideBatch(`"http":{"url":"http://127.0.0.1/","headers":{`, `"x%06d":"",`, `"":""}}`),
	}
	return nil
}

func sendBatches(ctx context.Context, a *attacker) {
	hammer(ctx, 8, func(worker, _ int) bool {
		return a.ask(ctx, http.MethodPost, wire.Version+"/tasks/batch", a.batches[worker%len(a.batches)]) != 0
	})
}

// wideBatch returns a batch with one task. The task repeats a part until the
// batch has the maximum size. If the part has a formatting verb, it gets the
// number of the repetition.
func wideBatch(open, part, end string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"tasks":[{"delay":"1h",` + open)
	for i := 0; b.Len() < batchBytes; i++ {
		if bytes.Contains([]byte(part), []byte("%")) {
			fmt.Fprintf(&b, part, i)
		} else {
			b.WriteString(part)
		}
	}
	b.WriteString(end + `}]}`)
	return b.Bytes()
}
