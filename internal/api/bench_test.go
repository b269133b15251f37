package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// devNull is a store that applies changes and stores nothing, so that only the
// API is measured.
type devNull struct {
	api.Store
	settings *settings.Settings
}

func (devNull) Transit(_ context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	replies := make([]store.Reply, len(steps))
	for i, st := range steps {
		replies[i].Result, replies[i].Err = st.Transition.Apply(now, nil, task.Facts{})
	}
	return replies, nil
}

func (d devNull) Standing() store.Standing {
	return store.Standing{Durability: "none", Settings: d.settings}
}

func post(b *testing.B, s *api.Server, target, body string, want int, token ...string) {
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	if len(token) > 0 {
		r.Header["Authorization"] = token
	}
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != want {
		b.Fatal(w.Code, w.Body)
	}
}

func item(i int) string {
	return fmt.Sprintf(`{"name":"order-%d-close","delay":"30m","http":{"url":"http://127.0.0.1:9000/orders/%d","headers":{"x-shop":"7"},"body":{"order":%d}},"labels":{"tenant":"acme"}}`, i, i, i)
}

func BenchmarkCreate(b *testing.B) {
	s := api.New(api.Config{}, devNull{settings: settings.NewSettings()})
	body := item(42)
	b.ReportAllocs()
	for b.Loop() {
		post(b, s, "/v1/tasks", body, 201)
	}
}

// A client that coalesces its calls sends such batches; compare with 64 creates.
func BenchmarkBatchOf64Calls(b *testing.B) {
	s := api.New(api.Config{}, devNull{settings: settings.NewSettings()})
	calls := make([]string, 64)
	for i := range calls {
		calls[i] = `{"create":` + item(i) + `}`
	}
	body := `{"calls":[` + strings.Join(calls, ",") + `]}`
	b.ReportAllocs()
	for b.Loop() {
		post(b, s, "/v1/tasks/batch", body, 200)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/create")
}

func BenchmarkBatchOf1000(b *testing.B) {
	s := api.New(api.Config{}, devNull{settings: settings.NewSettings()})
	items := make([]string, 1000)
	for i := range items {
		items[i] = item(i)
	}
	body := `{"tasks":[` + strings.Join(items, ",") + `]}`
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		post(b, s, "/v1/tasks/batch", body, 200)
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "tasks/s")
}
