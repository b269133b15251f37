package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// weak is a store that reaches a lower level for tasks with the name weak.
type weak struct {
	*memstore.Store
	err   error
	short bool // too few servers confirm existing tasks
}

func (w *weak) Standing() store.Standing {
	st := w.Store.Standing()
	st.Durability, st.Err = "default", w.err
	return st
}

func (w *weak) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if w.short {
		return nil, task.ErrNotDurable
	}
	replies, err := w.Store.Transit(ctx, now, steps)
	for i := range replies {
		if steps[i].Key.Name == "weak" || steps[i].Key.Name == "@weak" {
			replies[i].Durability = "async"
		}
	}
	return replies, err
}

func serveWeak(t *testing.T) (*service, *weak) {
	w := &weak{Store: memstore.New(memstore.Config{})}
	return &service{T: t, Server: api.New(api.Config{Version: "test"}, w), store: w.Store}, w
}

// durability returns the level of a reply.
func (r reply) durability() string {
	r.Helper()
	var got struct{ Durability string }
	fatal.If(r, json.Unmarshal(r.body, &got))
	return got.Durability
}

func TestEachReplyHasTheDurabilityOfItsChange(t *testing.T) {
	s, _ := serveWeak(t)
	const body = `{"delay": "1h", "http": {"url": "https://example.com/"}`
	for name, want := range map[string]string{"strong": "default", "weak": "async"} {
		tasks, schedules := "/v1/tasks/"+name, "/v1/schedules/"+name
		if got := s.do("PUT", tasks, body+"}").task(201); got.Durability != want {
			t.Errorf("PUT %s: %s", name, got.Durability)
		}
		if got := s.do("PATCH", tasks, `{"labels": {"a": "b"}}`).task(200); got.Durability != want {
			t.Errorf("PATCH %s: %s", name, got.Durability)
		}
		if got := s.do("GET", tasks, "").task(200); got.Durability != "" {
			t.Errorf("GET %s: %s", name, got.Durability)
		}
		made := decoded[wire.Schedule](s.do("PUT", schedules, `{"every": "1h", "task": {"http": {"url": "https://example.com/"}}}`), 201)
		if made.Durability != want {
			t.Errorf("PUT schedule %s: %s", name, made.Durability)
		}
	}
	s, _ = serveWeak(t)
	batch := func(queue string, names ...string) string {
		text := ""
		for _, name := range names {
			text += fmt.Sprintf(`,%s, "queue": %q, "name": %q}`, body, queue, name)
		}
		return `{"tasks": [` + text[1:] + `]}`
	}
	for _, c := range []struct {
		method, path, body string
		want               string
	}{
		{"POST", "/v1/tasks/batch", batch("one", "a", "b"), "default"},
		{"POST", "/v1/tasks/cancel?queue=one", "", "default"},
		{"POST", "/v1/tasks/batch", batch("two", "c", "weak", "d"), "async"},
		{"POST", "/v1/tasks/cancel?queue=two", "", "async"},
	} {
		if r := s.do(c.method, c.path, c.body); r.status != 200 || r.durability() != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.body)
		}
	}
}

// The reply to a repeat that is now invalid is the task, which is as durable as
// the reply says.
func TestAnInvalidRepeatHasTheDurabilityOfItsTask(t *testing.T) {
	for name, want := range map[string]string{"strong": "default", "weak": "async"} {
		s, w := serveWeak(t)
		put := func() reply {
			return s.do("PUT", "/v1/tasks/"+name, `{"delay": "1h", "retry": {"max_backoff": "2s"}, "http": {"url": "https://example.com/"}}`, "Idempotency-Key: k")
		}
		put().task(201)
		s.do("PUT", "/v1/queues/default", `{"retry": {"min_backoff": "1m"}}`).want(201, nil)
		if got := put().task(200); got.Durability != want {
			t.Errorf("the repeat of %s: %q", name, got.Durability)
		}
		w.short = true
		put().problem(503, "durability_not_met", "")
	}
}

// The store confirms the tasks that a repeated batch or backfill finds, so the
// reply has their level.
func TestARepeatedBatchOrBackfillHasTheDurabilityOfItsTasks(t *testing.T) {
	const span = `{"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:04:00Z"}`
	batch := func(name string) string {
		return fmt.Sprintf(`{"tasks": [{"delay": "1h", "name": "a", "http": {"url": "https://example.com/"}}, {"delay": "1h", "name": %q, "http": {"url": "https://example.com/"}}]}`, name)
	}
	s, w := serveWeak(t)
	s.do("PUT", "/v1/schedules/s", `{"cron": "* * * * *", "timezone": "UTC", "task": {"http": {"url": "https://example.com/"}}}`).want(201, nil)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/tasks/batch", batch("strong"), "default"},
		{"/v1/tasks/batch", batch("weak"), "async"},
		{"/v1/schedules/s/backfill", span, "default"},
	} {
		for _, round := range []string{"first", "repeat"} {
			if r := s.do("POST", c.path, c.body); r.status != 200 || r.durability() != c.want {
				t.Errorf("%s, %s: %d %s, want %q", c.path, round, r.status, r.body, c.want)
			}
		}
		w.short = true
		s.do("POST", c.path, c.body).problem(503, "durability_not_met", "")
		w.short = false
	}
}

func TestAReplyWithoutAChangeHasNoDurability(t *testing.T) {
	s, _ := serveWeak(t)
	s.do("POST", "/v1/tasks", `{"delay": "1h", "name": "a", "http": {"url": "https://example.com/"}}`).task(201)
	s.do("PUT", "/v1/schedules/s", `{"cron": "* * * * *", "timezone": "UTC", "task": {"http": {"url": "https://example.com/"}}}`).want(201, nil)
	none := `{"from": "2026-01-01T00:00:01Z", "until": "2026-01-01T00:00:02Z"}`
	for _, c := range []struct{ path, body, want string }{
		{"/v1/tasks/batch", `{"tasks": [{"delay": "1h", "name": "", "http": {}}]}`, ""},
		{"/v1/tasks/cancel?queue=other", "", ""},
		{"/v1/schedules/s/backfill", none, ""},
	} {
		if r := s.do("POST", c.path, c.body); r.status != 200 || r.durability() != c.want {
			t.Errorf("%s: %d %s, want %q", c.path, r.status, r.body, c.want)
		}
	}
}

// A store that may lose tasks accepts no new ones, and existing tasks go on.
func TestAServerWithAnUnfitStoreIsNotReady(t *testing.T) {
	s, w := serveWeak(t)
	s.do("PUT", "/v1/tasks/a", `{"delay": "1h", "http": {"url": "https://example.com/"}}`).task(201)
	w.err = fmt.Errorf("%w: at 192.0.2.1", task.ErrStoreUnfit)
	s.do("GET", "/readyz", "").problem(503, "store_unfit", "")
	s.do("GET", "/v1/tasks/a", "").task(200)
	s.do("PATCH", "/v1/tasks/a", fmt.Sprintf(`{"labels": {"at": %q}}`, time.Now().Format(time.Kitchen))).task(200)
}
