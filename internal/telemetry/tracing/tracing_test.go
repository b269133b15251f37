package tracing

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/foliot/foliot/internal/task"
)

const callers = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// create sends a request to an API with one route, and returns the traceparent
// that a created task would store.
func create(tr *Tracer, header string, status int) (remembered string) {
	api := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		remembered = Parent(r.Context())
		Answered(r.Context(), "/v1/tasks", "POST", status)
	})
	r := httptest.NewRequest("POST", "/v1/tasks?secret=query", strings.NewReader("secret-body"))
	if header != "" {
		r.Header.Set("Traceparent", header)
	}
	tr.Handler(api).ServeHTTP(httptest.NewRecorder(), r)
	return remembered
}

func TestADeliveryIsLinkedToTheSpanThatCreatedItsTask(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	remembered := create(tr, callers, 201)
	other, _, endOther := tr.Attempt(t.Context(), delivery(strings.TrimSuffix(callers, "01")+"00")) // the span that runs here does not matter
	defer endOther(task.Outcome{})
	_, sent, end := tr.Attempt(other, delivery(remembered))
	end(task.Outcome{Verdict: task.Success, Status: 204, Late: 12500 * time.Microsecond})
	closed(t, tr)

	created, delivered := r.named(t, "POST /v1/tasks"), r.named(t, "deliver")
	if got := hex.EncodeToString(created.GetTraceId()); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the create is in the trace %s, not in its caller's", got)
	}
	if got := hex.EncodeToString(created.GetParentSpanId()); got != "b7ad6b7169203331" {
		t.Errorf("the create's parent is %s, not its caller", got)
	}
	if bytes.Equal(delivered.GetTraceId(), created.GetTraceId()) || len(delivered.GetParentSpanId()) != 0 {
		t.Error("the delivery is no trace of its own")
	}
	links := delivered.GetLinks()
	if len(links) != 1 || !bytes.Equal(links[0].GetTraceId(), created.GetTraceId()) || !bytes.Equal(links[0].GetSpanId(), created.GetSpanId()) {
		t.Errorf("the delivery's links are %v, want the create's span", links)
	}
	if want := fmt.Sprintf("00-%x-%x-01", delivered.GetTraceId(), delivered.GetSpanId()); sent != want {
		t.Errorf("the receiver was sent %s, want %s", sent, want)
	}
	if r.paths[0] != "/v1/traces" || r.headers[0].Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("sent to %s as %s", r.paths[0], r.headers[0].Get("Content-Type"))
	}
	about := attributes(r.resource)
	if about["service.name"] != "foliot" || about["service.version"] != "1.2.3" {
		t.Errorf("the resource is %v", about)
	}
}

func TestASpanDescribesItsAttempt(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome task.Outcome
		want    map[string]any
		message string
	}{
		{
			"delivered",
			task.Outcome{Verdict: task.Success, Status: 204, Late: 12500 * time.Microsecond},
			map[string]any{"foliot.outcome": "delivered", "http.response.status_code": int64(204), "foliot.late_seconds": 0.0125},
			"",
		},
		{
			"failed",
			task.Outcome{Verdict: task.Failure, Status: 500, Error: "the receiver answered 500"},
			map[string]any{"foliot.outcome": "failed", "http.response.status_code": int64(500), "error.type": "500"},
			"the receiver answered 500",
		},
		{
			"without a reply",
			task.Outcome{Verdict: task.Failure, Error: "no reply within 15s"},
			map[string]any{"foliot.outcome": "failed", "error.type": "failed"},
			"no reply within 15s",
		},
		{
			"denied",
			task.Outcome{Verdict: task.Refusal, Reason: "egress_denied", Error: "10.0.0.1 is a private address"},
			map[string]any{"foliot.outcome": "refused", "error.type": "egress_denied"},
			"10.0.0.1 is a private address",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t)
			tr := tracer(t, r.URL)
			_, _, end := tr.Attempt(t.Context(), delivery(""))
			end(c.outcome)
			closed(t, tr)
			span := r.named(t, "deliver")
			got := attributes(span.GetAttributes())
			for key, want := range map[string]any{
				"foliot.namespace": "acme", "foliot.task": "order-42", "foliot.task.id": "0198-id", "foliot.queue": "mails",
				"foliot.attempt": int64(3), "server.address": "shop.example", "server.port": int64(8443), "http.request.method": "POST",
			} {
				if got[key] != want {
					t.Errorf("%s is %v, want %v", key, got[key], want)
				}
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s is %v, want %v", key, got[key], want)
				}
			}
			isError := span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR
			if isError != (c.message != "") || span.GetStatus().GetMessage() != c.message {
				t.Errorf("status %v", span.GetStatus())
			}
		})
	}
}

func TestASpanNamesTheKindAndNoServer(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	d := delivery("")
	d.Task.Request = task.Request{Kind: "close-order", Destination: task.KindDestination("close-order")}
	_, _, end := tr.Attempt(t.Context(), d)
	end(task.Outcome{Verdict: task.Success})
	closed(t, tr)
	got := attributes(r.named(t, "deliver").GetAttributes())
	if got["foliot.kind"] != "close-order" || got["server.address"] != nil || got["http.request.method"] != nil {
		t.Errorf("%v", got)
	}
}

func TestNothingSecretLeavesTheProcess(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	_, _, end := tr.Attempt(t.Context(), delivery(create(tr, "", 500)))
	end(task.Outcome{Verdict: task.Failure, Error: `parse "https://shop.example/path?token=secret-query"`, Reply: "secret-reply"})
	closed(t, tr)
	if len(r.bodies) == 0 {
		t.Fatal("nothing was exported")
	}
	for _, body := range r.bodies {
		for _, secret := range []string{"secret", "Bearer", "token="} {
			if i := bytes.Index(body, []byte(secret)); i >= 0 {
				t.Errorf("%q was exported: …%q", secret, body[max(0, i-20):min(len(body), i+30)])
			}
		}
	}
}

func TestTheCreatorOfATaskDecidesWhetherItIsTraced(t *testing.T) {
	for _, c := range []struct {
		name   string
		ratio  float64
		caller string
		seen   bool
	}{
		{"the caller keeps its trace", 0, callers, true},
		{"the caller does not keep its trace", 1, strings.TrimSuffix(callers, "01") + "00", false},
		{"no caller decided, all are kept", 1, "", true},
		{"no caller decided, none is kept", 0, "", false},
		{"the caller sends nonsense", 0, "00-nonsense-01", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t)
			tr := tracer(t, r.URL, ratio(c.ratio))
			remembered := create(tr, c.caller, 201)
			_, sent, end := tr.Attempt(t.Context(), delivery(remembered))
			end(task.Outcome{Verdict: task.Success, Status: 200})
			closed(t, tr)
			want := 0
			if c.seen {
				want = 2
			}
			if len(r.spans) != want {
				t.Errorf("%d spans, want %d", len(r.spans), want)
			}
			for _, parent := range []string{remembered, sent} {
				if got := parse(parent); !got.IsValid() || got.IsSampled() != c.seen {
					t.Errorf("%q does not say that it is seen: %v", parent, c.seen)
				}
			}
		})
	}
}

func TestTheRatioIsThePartThatIsKept(t *testing.T) {
	tr := tracer(t, "http://127.0.0.1:1", ratio(0.25))
	kept := 0
	for range 4000 {
		if _, sent, _ := tr.Attempt(t.Context(), delivery("")); strings.HasSuffix(sent, "-01") {
			kept++
		}
	}
	if kept < 800 || kept > 1200 {
		t.Errorf("%d of 4000 are kept, want a quarter", kept)
	}
}

func TestTheAttemptRunsUnderItsSpan(t *testing.T) {
	tr := tracer(t, "http://127.0.0.1:1")
	type key struct{}
	ctx, sent, _ := tr.Attempt(context.WithValue(t.Context(), key{}, "kept"), delivery(""))
	if got := write(trace.SpanContextFromContext(ctx)); got != sent {
		t.Errorf("the context is that of %s, the receiver is sent %s", got, sent)
	}
	if ctx.Value(key{}) != "kept" {
		t.Error("the context is not the caller's")
	}
}

func TestProbesAndScrapesAreNoSpans(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	h := tr.Handler(http.NotFoundHandler())
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	closed(t, tr)
	if len(r.spans) != 0 {
		t.Errorf("%d spans", len(r.spans))
	}
}

func TestARequestThatPanicsHasItsSpan(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	h := tr.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	func() {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/tasks/x", nil))
	}()
	closed(t, tr)
	r.named(t, "HTTP")
}

func TestARequestWithoutAReplyHasNoStatus(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	create(tr, "", 0)
	closed(t, tr)
	if status, given := attributes(r.named(t, "POST /v1/tasks").GetAttributes())["http.response.status_code"]; given {
		t.Errorf("status %v", status)
	}
}

func TestTextOfAClientIsInNoSpanName(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	for _, c := range []struct {
		method, path, route, seen string
		status                    int
	}{{"HEAD", "/v1/tasks/made-up", "/v1/tasks/{name}", "HEAD", 200}, {"MADEUP", "/v1/made-up", "other", "other", 404}} {
		tr.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			Answered(r.Context(), c.route, c.seen, c.status)
		})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil))
	}
	closed(t, tr)
	routed, not := attributes(r.named(t, "HEAD /v1/tasks/{name}").GetAttributes()), attributes(r.named(t, "HTTP").GetAttributes())
	if routed["http.route"] != "/v1/tasks/{name}" || routed["http.request.method"] != "HEAD" {
		t.Errorf("routed: %v", routed)
	}
	if not["http.route"] != nil || not["http.request.method"] != "_OTHER" || not["http.response.status_code"] != int64(404) {
		t.Errorf("not routed: %v", not)
	}
}

func TestANilTracerTracesNothingAndAllocatesNothing(t *testing.T) {
	var off *Tracer
	d, ctx, next := delivery(callers), t.Context(), http.NotFoundHandler()
	if n := testing.AllocsPerRun(100, func() {
		got, sent, end := off.Attempt(ctx, d)
		end(task.Outcome{})
		if got != ctx || sent != "" {
			t.Error("it changed the attempt")
		}
	}); n != 0 {
		t.Errorf("an attempt costs %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if Parent(ctx) != "" {
			t.Error("there is a parent")
		}
	}); n != 0 {
		t.Errorf("asking for a parent costs %v allocations, want 0", n)
	}
	if got := off.Handler(next); fmt.Sprintf("%p", got) != fmt.Sprintf("%p", next) {
		t.Error("it stands in the requests' way")
	}
	if err := off.Close(ctx); err != nil || countsOf(off) != (counts{}) {
		t.Error("it cannot be closed or counted")
	}
}

func TestErrorsOfAConfigurationContainNoSecrets(t *testing.T) {
	for _, endpoint := range []string{
		"127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://", "http://user:secret@127.0.0.1:4318", "http://127.0.0.1:4318?key=secret", "http://secret\x7f",
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint)
		if _, err := FromEnvironment(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add(callers)
	f.Add("00-00000000000000000000000000000000-b7ad6b7169203331-01")
	f.Add("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more")
	f.Add("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	f.Fuzz(func(t *testing.T, s string) {
		c := parse(s)
		if !c.IsValid() {
			return
		}
		again := parse(write(c))
		if again.TraceID() != c.TraceID() || again.SpanID() != c.SpanID() || again.IsSampled() != c.IsSampled() {
			t.Errorf("%q is written as %q", s, write(c))
		}
	})
}
