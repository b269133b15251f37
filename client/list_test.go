package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

// names reads a list to its end.
func names(t *testing.T, c *client.Client, q client.Query) []string {
	t.Helper()
	var found []string
	for task, err := range c.Tasks.List(t.Context(), q) {
		fatal.If(t, err)
		if task.HTTP.Body.IsZero() == q.Bodies {
			t.Errorf("%s has a body %q", task.Name, task.HTTP.Body.Bytes())
		}
		found = append(found, task.Name)
	}
	slices.Sort(found)
	return found
}

func fill(t *testing.T, c *client.Client, n int) {
	t.Helper()
	specs := make([]client.Spec, n)
	for i := range specs {
		specs[i] = hour(fmt.Sprintf("t-%02d", i))
		specs[i].Queue = []string{"even", "odd"}[i%2]
		specs[i].Labels = map[string]string{"third": fmt.Sprint(i % 3), "a": "="}
		specs[i].Delay = time.Duration(i+1) * time.Hour
		specs[i].HTTP.Body = client.Text("x")
	}
	for _, r := range must[[]client.Result](t)(c.Tasks.CreateMany(t.Context(), specs)) {
		fatal.If(t, r.Err)
	}
}

func TestAListGoesThroughAllPages(t *testing.T) {
	s := serve(t)
	c := s.client()
	fill(t, c, 30)
	requests, _ := s.counted()
	if got := names(t, c, client.Query{PageSize: 7}); len(got) != 30 || requests.Load() < 5 || len(slices.Compact(got)) != 30 {
		t.Errorf("%d tasks in %d requests: %v", len(got), requests.Load(), got)
	}
	if got := names(t, c, client.Query{Bodies: true}); len(got) != 30 {
		t.Errorf("with bodies: %v", got)
	}
	requests.Store(0)
	for _, err := range c.Tasks.List(t.Context(), client.Query{PageSize: 7}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests for the first task", requests.Load())
	}
}

func TestFiltersSelectTasks(t *testing.T) {
	c := serve(t).client()
	fill(t, c, 12)
	now := time.Now()
	for want, f := range map[string]client.Filter{
		"[t-00 t-06]":      {Queue: "even", Labels: map[string]string{"third": "0", "a": "="}},
		"[t-00 t-01]":      {DueBefore: now.Add(150 * time.Minute)},
		"[t-10 t-11]":      {DueAfter: now.Add(10*time.Hour + 30*time.Minute)},
		"[t-11]":           {Prefix: "t-1", Queue: "odd"},
		"[]":               {States: []client.State{client.StateDead, client.StateRunning}},
		"[t-01 t-03 t-05]": {Queue: "odd", States: []client.State{client.StateScheduled, client.StateDead}, DueBefore: now.Add(7 * time.Hour)},
	} {
		if got := fmt.Sprint(names(t, c, client.Query{Filter: f})); got != want {
			t.Errorf("%+v chose %s, want %s", f, got, want)
		}
	}
	dry, err := c.Tasks.CancelMatching(t.Context(), client.Filter{Queue: "odd", DryRun: true})
	if err != nil || dry.Matched == nil || *dry.Matched != 6 || len(dry.Examples) != 6 || dry.Examples[0].Queue != "odd" {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	for want, to := range map[string]client.When{"1h": {By: time.Hour}, "at": {At: now.Add(3 * time.Hour)}, "in": {Delay: 3 * time.Hour}} {
		if moved, err := c.Tasks.MoveMatching(t.Context(), client.Filter{Prefix: "t-02"}, to); err != nil || moved.Changed != 1 {
			t.Errorf("%s: %+v, %v", want, moved, err)
		}
		if due := must[*client.Task](t)(c.Tasks.Get(t.Context(), "t-02")).DueAt; due.Sub(now).Round(time.Minute) < 3*time.Hour {
			t.Errorf("%s: due %v after the start", want, due.Sub(now))
		}
	}
	if changed, err := c.Tasks.CancelMatching(t.Context(), client.Filter{Queue: "odd"}); err != nil || changed.Changed != 6 || changed.Durability == "" {
		t.Errorf("%+v, %v", changed, err)
	}
	var e *client.Error
	if _, err := c.Tasks.CancelMatching(t.Context(), client.Filter{}); !errors.As(err, &e) || e.Code != "no_filter" {
		t.Errorf("without a filter: %v", err)
	}
	if _, err := c.Tasks.CancelMatching(t.Context(), client.Filter{All: true}, client.Expect(5)); !errors.Is(err, client.ErrCount) || !errors.As(err, &e) || e.Count != 6 {
		t.Errorf("another number: %v", err)
	}
	if changed, err := c.Tasks.CancelMatching(t.Context(), client.Filter{All: true}, client.Expect(6)); err != nil || changed.Changed != 6 {
		t.Errorf("all: %+v, %v", changed, err)
	}
	if changed, err := c.Tasks.RetryMatching(t.Context(), client.Filter{All: true}); err != nil || changed.Changed != 0 {
		t.Errorf("retry: %+v, %v", changed, err)
	}
}

func TestAnErrorIsTheLastThingAListYields(t *testing.T) {
	s := serve(t)
	c := s.client()
	fill(t, c, 6)
	var n atomic.Int64
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 2 {
			problem(w, 500, "internal")
			return
		}
		api.ServeHTTP(w, r)
	}
	var got []string
	for _, err := range c.Tasks.List(t.Context(), client.Query{PageSize: 2}) {
		if err != nil {
			got = append(got, "error")
			continue
		}
		got = append(got, "task")
	}
	if fmt.Sprint(got) != "[task task task task error]" {
		t.Error(got)
	}
}

func TestTheLatestEndsAreListedPageByPage(t *testing.T) {
	c := serve(t).client()
	fill(t, c, 6)
	for _, name := range []string{"t-04", "t-01", "t-05"} {
		if _, err := c.Tasks.Cancel(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	q := client.Query{LatestEnded: true, PageSize: 2}
	page := must[*client.Page](t)(c.Tasks.Page(t.Context(), q, ""))
	if len(page.Tasks) != 2 || page.Next == "" || page.Tasks[0].FinishedAt.Before(page.Tasks[1].FinishedAt) {
		t.Errorf("%+v", page)
	}
	if got := names(t, c, q); len(got) != 3 {
		t.Errorf("a list of all: %v", got)
	}
}

func TestUpcomingReturnsWhatIsDueNext(t *testing.T) {
	c := serve(t).client()
	fill(t, c, 6)
	list := must[*client.Upcoming](t)(c.Tasks.Upcoming(t.Context(), client.UpcomingQuery{Within: 5*time.Hour + time.Minute, Queue: "even", Limit: 2}))
	if len(list.Items) != 2 || list.Items[0].Name != "t-00" || list.Items[1].Name != "t-02" || !list.More || !list.Until.Equal(list.Items[1].Due) || list.Time.IsZero() {
		t.Errorf("%+v", list)
	}
	if all := must[*client.Upcoming](t)(c.Tasks.Upcoming(t.Context(), client.UpcomingQuery{})); len(all.Items) != 1 || all.More {
		t.Errorf("within the default hour: %+v", all)
	}
	later := must[*client.Upcoming](t)(c.Tasks.Upcoming(t.Context(), client.UpcomingQuery{From: list.Items[0].Due.Add(time.Millisecond), Within: 5*time.Hour + time.Minute, Queue: "even"}))
	if len(later.Items) == 0 || later.Items[0].Name != "t-02" || later.More {
		t.Errorf("after the first one: %+v", later)
	}
}
