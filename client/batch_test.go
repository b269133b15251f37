package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/client"
)

// counted makes s count requests, and the bytes of the longest one.
func (s *server) counted() (requests, longest *atomic.Int64) {
	requests, longest = new(atomic.Int64), new(atomic.Int64)
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		longest.Store(max(longest.Load(), r.ContentLength))
		api.ServeHTTP(w, r)
	}
	return requests, longest
}

func TestABatchOfAnyLengthHasItsResultsInOrder(t *testing.T) {
	s := serve(t)
	c := s.client()
	requests, _ := s.counted()
	specs := make([]client.Spec, 2500)
	for i := range specs {
		specs[i] = hour(fmt.Sprintf("t-%d", i))
	}
	specs[3].Name = "no name"
	specs[1007].HTTP.Body = client.JSON(func() {})
	specs[2000].Name = "t-1999"
	results := must[[]client.BatchResult](t)(c.Tasks.CreateBatch(t.Context(), specs))
	if len(results) != len(specs) || requests.Load() != 3 {
		t.Fatalf("%d results of %d in %d requests", len(results), len(specs), requests.Load())
	}
	for i, r := range results {
		var e *client.Error
		switch i {
		case 3, 1007, 2000:
			code := map[int]string{3: "bad_name", 1007: "bad_body", 2000: "exists"}[i]
			if !errors.As(r.Err, &e) || e.Code != code || errors.Is(r.Err, client.ErrExists) != (i == 2000) {
				t.Errorf("item %d: %v", i, r.Err)
			}
			if i == 2000 && (e.ID != results[1999].ID || e.State != client.Scheduled) {
				t.Errorf("the error of a name that exists has the id %q and the state %q, want those of its task, %s", e.ID, e.State, results[1999].ID)
			}
		default:
			if r.Err != nil || r.Name != specs[i].Name || r.ID == "" || r.DueAt.IsZero() {
				t.Errorf("item %d: %+v", i, r)
			}
		}
	}
	if got := must[[]client.BatchResult](t)(c.Tasks.CreateBatch(t.Context(), nil)); len(got) != 0 || requests.Load() != 3 {
		t.Errorf("an empty batch: %v, %d requests", got, requests.Load())
	}
}

// A request holds as many bytes as a server accepts, and never more.
func TestABatchIsCutByBytes(t *testing.T) {
	s := serve(t)
	c := s.client()
	requests, longest := s.counted()
	const frame = `{"name":"t-00","delay":"1h","http":{"url":"http://127.0.0.1:9/","body":""}}`
	item := func(i, length int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":"t-%02d","delay":"1h","http":{"url":"http://127.0.0.1:9/","body":"%s"}}`, i, strings.Repeat("x", length-len(frame))))
	}
	const most = 16 << 20
	const each = 256 << 10 // just below the limit of a body
	var items []json.RawMessage
	rest := most - len(`{"tasks":[`) - len(`]}`)
	for rest > each {
		items = append(items, item(len(items), each))
		rest -= each + 1
	}
	for over, want := range []int64{1, 2} { // bytes above the limit of one request
		requests.Store(0)
		all := append(items[:len(items):len(items)], item(len(items)+over, rest+over))
		results := must[[]client.BatchResult](t)(c.Tasks.CreateBatchJSON(t.Context(), all))
		for i, r := range results {
			if r.Err != nil && over == 0 {
				t.Errorf("item %d: %v", i, r.Err)
			}
		}
		if len(results) != len(all) || requests.Load() != want || longest.Load() != most {
			t.Errorf("%d results of %d, %d requests, want %d, the longest of %d bytes", len(results), len(all), requests.Load(), want, longest.Load())
		}
	}
	// A task that is too long for any request is refused alone.
	huge := json.RawMessage(`{"name":"huge","delay":"1h","http":{"url":"http://127.0.0.1:9/","body":"` + strings.Repeat("x", most) + `"}}`)
	results := must[[]client.BatchResult](t)(c.Tasks.CreateBatchJSON(t.Context(), []json.RawMessage{item(90, 200), huge, item(91, 200)}))
	var e *client.Error
	if len(results) != 3 || results[0].Err != nil || !errors.As(results[1].Err, &e) || e.Status != 413 || results[2].Err != nil {
		t.Errorf("a huge item: %+v", results)
	}
}

func TestABatchThatFailsReturnsTheResultsSoFar(t *testing.T) {
	s := serve(t)
	c := s.client()
	var n atomic.Int64
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 2 {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}
	specs := make([]client.Spec, 2100)
	for i := range specs {
		specs[i] = hour(fmt.Sprintf("t-%d", i))
	}
	results, err := c.Tasks.CreateBatch(t.Context(), specs)
	if len(results) != 1000 || err == nil || !client.MaybeApplied(err) || n.Load() != 2 {
		t.Fatalf("%d results, %d requests, %v", len(results), n.Load(), err)
	}
	if results, err = c.Tasks.CreateBatch(t.Context(), specs[len(results):]); err != nil || len(results) != 1100 || s.count() < 1000 {
		t.Errorf("the rest: %d results, %v", len(results), err)
	}
	bad := []json.RawMessage{[]byte(`{"name":"x","delay":"1h","http":{"url":"http://127.0.0.1:9/"}}`), []byte(`{`)}
	if results, err := c.Tasks.CreateBatchJSON(t.Context(), bad); err == nil || len(results) != 0 {
		t.Errorf("broken JSON: %v, %v", results, err)
	}
}
