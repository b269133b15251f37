package tracing

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a collector that records its requests, raw and decoded.
type receiver struct {
	*httptest.Server
	answer func(http.ResponseWriter) bool // called before a batch is accepted; false: the batch is refused

	mu       sync.Mutex // guards the fields below
	bodies   [][]byte
	headers  []http.Header
	paths    []string
	spans    []*tracepb.Span
	resource []*commonpb.KeyValue
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if r.answer != nil && !r.answer(w) {
		return
	}
	var batch tracepb.TracesData
	if err != nil || proto.Unmarshal(body, &batch) != nil {
		http.Error(w, "no OTLP", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.headers, r.paths = append(r.bodies, body), append(r.headers, q.Header), append(r.paths, q.URL.Path)
	for _, of := range batch.GetResourceSpans() {
		r.resource = of.GetResource().GetAttributes()
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

// named returns the only span of that name.
func (r *receiver) named(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *tracepb.Span
	for _, s := range r.spans {
		if s.GetName() != name {
			continue
		}
		if found != nil {
			t.Fatalf("two spans are called %q", name)
		}
		found = s
	}
	if found == nil {
		t.Fatalf("no span is called %q among %d", name, len(r.spans))
	}
	return found
}

func attributes(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.GetKey()] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			m[a.GetKey()] = v.DoubleValue
		}
	}
	return m
}

// tracer returns a Tracer that exports to endpoint. The test closes it.
func tracer(t testing.TB, endpoint string, edits ...func(*Config)) *Tracer {
	t.Helper()
	c := Config{Endpoint: endpoint + "/v1/traces", Ratio: 1, Version: "1.2.3"}
	for _, edit := range edits {
		edit(&c)
	}
	tr, err := New(c)
	fatal.If(t, err)
	t.Cleanup(func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tr.Close(gone)
	})
	return tr
}

func closed(t *testing.T, tr *Tracer) {
	t.Helper()
	fatal.If(t, tr.Close(t.Context()))
}

func ratio(r float64) func(*Config) { return func(c *Config) { c.Ratio = r } }

// delivery is an attempt of a task with all kinds of secrets.
func delivery(trace string) task.Delivery {
	return task.Delivery{Number: 3, Task: &task.Task{
		Namespace: "acme", Name: "order-42", ID: "0198-id", Queue: "mails", Trace: trace,
		Labels: map[string]string{"tenant": "secret-label"},
		Request: task.Request{
			Method: "POST", URL: "https://shop.example:8443/secret-path?token=secret-query", Destination: "shop.example:8443",
			Headers: map[string]string{"Authorization": "Bearer secret-header"}, Body: []byte("secret-body"),
		},
	}}
}

// counts are the results of Tracer.Counts.
type counts struct{ Exported, Failed, Dropped uint64 }

func countsOf(t *Tracer) (c counts) {
	c.Exported, c.Failed, c.Dropped = t.Counts()
	return c
}
