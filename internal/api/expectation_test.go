package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func createTasks(s *service, n int) {
	s.Helper()
	tasks := make([]string, n)
	for i := range tasks {
		tasks[i] = fmt.Sprintf(`{"name": "t%d", "queue": "q%d", "delay": "1h", "http": {"url": "http://example.com/"}}`, i, i%2)
	}
	for some := range slices.Chunk(tasks, task.MaxBatch) {
		made := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+strings.Join(some, ",")+`]}`), 200)
		for _, r := range made.Results {
			if r.Status != 201 {
				s.Fatalf("%+v", r)
			}
		}
	}
}

func TestAChangeByFilterChangesNothingUnlessAsManyTasksMatchAsExpected(t *testing.T) {
	const n = 1200 // more than one page
	s := serve(t)
	createTasks(s, n)
	for _, c := range []struct {
		target string
		count  int
	}{
		{"cancel?all=true&expect=1199", n},
		{"cancel?all=true&expect=1201", n},
		{"cancel?all=true&expect=0", n},
		{"cancel?queue=q0&expect=1200", n / 2},
		{"retry?all=true&expect=1", 0},
	} {
		p := s.do("POST", "/v1/tasks/"+c.target, "").problem(412, "count_differs", "expect")
		if p.Count == nil || *p.Count != c.count {
			t.Errorf("%s: the problem is %+v, want count %d", c.target, p, c.count)
		}
	}
	for _, x := range s.all() {
		if x.State != task.Scheduled {
			t.Fatalf("%s is %s", x.Name, x.State)
		}
	}
	done := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?queue=q0&expect=600", ""), 200)
	if done.Changed != n/2 {
		t.Errorf("queue q0: %+v", done)
	}
	done = decoded[wire.BulkReply](s.do("POST", "/v1/tasks/retry?all=true&expect=0", ""), 200)
	if done.Changed != 0 {
		t.Errorf("a retry of nothing: %+v", done)
	}
}

// joining is a store that creates another task after each page of a list.
type joining struct {
	*memstore.Store
	join func()
}

func (j *joining) List(ctx context.Context, f task.Filter, p task.Page) (task.Listing, error) {
	listing, err := j.Store.List(ctx, f, p)
	if j.join != nil {
		j.join()
	}
	return listing, err
}

func TestATaskThatBeginsToMatchAfterTheCountIsLeftAlone(t *testing.T) {
	store := &joining{Store: memstore.New(memstore.Config{})}
	s := &service{T: t, Server: api.New(api.Config{Version: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, store), store: store.Store}
	createTasks(s, 3)
	late := 0
	store.join = func() {
		late++
		s.do("POST", "/v1/tasks", fmt.Sprintf(`{"name": "late%d", "delay": "1h", "http": {"url": "http://example.com/"}}`, late)).want(201, nil)
	}
	done := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?all=true&expect=3", ""), 200)
	store.join = nil
	if done.Changed != 3 || late < 2 {
		t.Errorf("%d tasks joined: %+v", late, done)
	}
	for _, x := range s.all() {
		if counted := x.Name[0] == 't'; (x.State == task.Cancelled) != counted {
			t.Errorf("%s is %s", x.Name, x.State)
		}
	}
}
