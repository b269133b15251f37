package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
)

// counted makes s count requests, and the bytes of the longest one.
func (s *server) counted() (requests, longest *atomic.Int64) {
	requests, longest = new(atomic.Int64), new(atomic.Int64)
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		for n := longest.Load(); n < r.ContentLength && !longest.CompareAndSwap(n, r.ContentLength); n = longest.Load() {
		}
		api.ServeHTTP(w, r)
	}
	return requests, longest
}

func TestAnyNumberOfTasksIsCreated(t *testing.T) {
	s := serve(t)
	c := s.client()
	requests, _ := s.counted()
	specs := make([]client.Spec, 2500)
	for i := range specs {
		specs[i] = hour(fmt.Sprintf("t-%d", i))
	}
	specs[3].Name = "no name"
	specs[1007].HTTP.Body = client.JSON(func() {})
	specs[1999].Name = "t-1998" // in the same batch
	results := must[[]client.Result](t)(c.Tasks.CreateMany(t.Context(), specs))
	if len(results) != len(specs) || requests.Load() != 3 {
		t.Fatalf("%d results of %d in %d requests", len(results), len(specs), requests.Load())
	}
	for i, r := range results {
		var e *client.Error
		switch i {
		case 3, 1007, 1999:
			code := map[int]string{3: "bad_name", 1007: "bad_body", 1999: "exists"}[i]
			if !errors.As(r.Err, &e) || e.Code != code || r.Task != nil || errors.Is(r.Err, client.ErrExists) != (i == 1999) {
				t.Errorf("item %d: %v", i, r.Err)
			}
			if i == 1999 && (e.ID != results[1998].Task.ID || e.State != client.StateScheduled || e.Op != "create t-1998") {
				t.Errorf("the error of a name that exists is %+v, want the id and the state of its task, %s", e, results[1998].Task.ID)
			}
		default:
			if r.Err != nil || r.Task.Name != specs[i].Name || r.Task.ID == "" || r.Task.DueAt.IsZero() || r.Task.Durability == "" {
				t.Errorf("item %d: %+v", i, r)
			}
		}
	}
	if got := must[[]client.Result](t)(c.Tasks.CreateMany(t.Context(), nil)); len(got) != 0 || requests.Load() != 3 {
		t.Errorf("no tasks: %v, %d requests", got, requests.Load())
	}
}

func TestTasksArePutAndCancelledInBatches(t *testing.T) {
	s := serve(t)
	c := s.client()
	requests, _ := s.counted()
	var specs []client.Spec
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("t-", i))
		specs = append(specs, hour(names[i]))
	}
	first := must[[]client.Result](t)(c.Tasks.PutMany(t.Context(), specs))
	again := must[[]client.Result](t)(c.Tasks.PutMany(t.Context(), specs))
	for i := range specs {
		if first[i].Err != nil || again[i].Err != nil || first[i].Task.ID == again[i].Task.ID || first[i].Task.Name != names[i] {
			t.Errorf("%+v, %+v", first[i], again[i])
		}
	}
	must[client.Cancelled](t)(c.Tasks.Cancel(t.Context(), "t-3"))
	for i, r := range must[[]client.Result](t)(c.Tasks.CancelMany(t.Context(), append(names, "nobody", ".."))) {
		switch {
		case i == 20 && !errors.Is(r.Err, client.ErrNotFound), i == 21 && r.Err == nil:
			t.Errorf("item %d: %+v", i, r)
		case i < 20 && (r.Err != nil || r.Task.State != client.StateCancelled || r.Task.Already != (i == 3) || r.Task.UnderWay):
			t.Errorf("item %d: %+v", i, r)
		}
	}
	if requests.Load() != 4 {
		t.Errorf("%d requests", requests.Load())
	}
}

// The tasks of a request have at most 8 MiB, and a larger one goes alone.
func TestRequestsAreCutByBytes(t *testing.T) {
	s := serve(t)
	c := s.client()
	requests, longest := s.counted()
	specs := make([]client.Spec, 50)
	for i := range specs {
		specs[i] = hour(fmt.Sprint("t-", i))
		specs[i].HTTP.Body = client.Text(strings.Repeat("x", 250<<10))
	}
	specs[7].HTTP.Body = client.Text(strings.Repeat("x", 9<<20))
	for i, r := range must[[]client.Result](t)(c.Tasks.CreateMany(t.Context(), specs)) {
		var e *client.Error
		if i == 7 && (!errors.As(r.Err, &e) || e.Status != http.StatusRequestEntityTooLarge) || i != 7 && r.Err != nil {
			t.Errorf("item %d: %v", i, r.Err)
		}
	}
	if requests.Load() < 3 || longest.Load() < 8<<20 {
		t.Errorf("%d requests of at most %d bytes", requests.Load(), longest.Load())
	}
}

func TestManyCallsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t)
	s.through = func(_ http.Handler, _ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}
	results, err := s.client().Tasks.CreateMany(ctx, make([]client.Spec, 5000))
	if len(results) != 5000 || !errors.Is(err, context.Canceled) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		if !errors.Is(r.Err, context.Canceled) || i >= 4000 && client.MaybeApplied(r.Err) {
			t.Errorf("item %d: %v", i, r.Err)
		}
	}
	if !client.MaybeApplied(results[0].Err) {
		t.Error("the first item certainly was not applied, but it was sent")
	}
}

func TestLinesAreImported(t *testing.T) {
	s := serve(t)
	a := admin.New(s.client())
	line := func(name, body string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":%q,"delay":"1h","http":{"url":"http://127.0.0.1:9/","body":%q}}`, name, body))
	}
	results := must[[]admin.Imported](t)(a.Import(t.Context(), []json.RawMessage{line("a", ""), []byte(`{"dealy":"1h"}`), line("a", "")}))
	var e *client.Error
	if len(results) != 3 || results[0].Err != nil || results[0].Name != "a" || results[0].ID == "" || results[0].DueAt.IsZero() {
		t.Errorf("%+v", results)
	}
	if !errors.As(results[1].Err, &e) || e.Status != 400 || e.Field != "dealy" || e.Suggestion != "delay" {
		t.Errorf("an unknown field: %+v", results[1].Err)
	}
	if !errors.Is(results[2].Err, client.ErrExists) || !errors.As(results[2].Err, &e) || e.ID != results[0].ID || e.State != client.StateScheduled {
		t.Errorf("a name that exists: %+v", results[2].Err)
	}
	// A line that no request can have is refused as an item.
	results = must[[]admin.Imported](t)(a.Import(t.Context(), []json.RawMessage{line("huge", strings.Repeat("x", 17<<20))}))
	if len(results) != 1 || !errors.As(results[0].Err, &e) || e.Status != 413 {
		t.Errorf("a huge item: %+v", results)
	}
	if results, err := a.Import(t.Context(), []json.RawMessage{line("b", ""), []byte(`{`)}); err == nil || len(results) != 0 {
		t.Errorf("broken JSON: %v, %v", results, err)
	}
	if results, err := a.Import(t.Context(), nil); err != nil || len(results) != 0 {
		t.Errorf("nothing: %v, %v", results, err)
	}
}
