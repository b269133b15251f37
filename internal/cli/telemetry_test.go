package cli

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
)

// scraped returns the value of a series in /metrics, or -1 if it is missing.
func scraped(t *testing.T, text, series string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatalf("%s is %q", series, m[1])
	}
	return v
}

func (p *process) fetch(path string) (status int, body string) {
	p.t.Helper()
	reply, err := http.Get(p.url + path)
	fatal.If(p.t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	fatal.If(p.t, err)
	return reply.StatusCode, string(text)
}

func TestMetricsCountTheResultsOfTasks(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	p := serveHere(t, "--listen", anyPort, "--data", t.TempDir())
	p.must("add", hook.URL, "--in", "10ms", "--wait")
	p.must("add", hook.URL, "--in", "1h")
	_, _, _ = p.foliot("add", "http://127.0.0.1:1/refused", "--in", "0s", "--max-attempts", "1", "--wait")

	const home = `namespace="default",queue="default"`
	want := map[string]float64{
		`foliot_attempts_total{namespace="default",outcome="delivered",queue="default"}`:     1,
		`foliot_attempts_total{namespace="default",outcome="failed",queue="default"}`:        1,
		`foliot_dead_total{namespace="default",queue="default",reason="attempts_exhausted"}`: 1,
		`foliot_lateness_seconds_count{` + home + `}`:                                        2,
		`foliot_tasks{` + home + `,state="scheduled"}`:                                       1,
		`foliot_tasks{` + home + `,state="delivered"}`:                                       1,
		`foliot_tasks{` + home + `,state="dead"}`:                                            1,
		`foliot_oldest_overdue_seconds{` + home + `}`:                                        0,
		`foliot_api_requests_total{method="POST",route="/v1/tasks",status="201"}`:            3,
		`foliot_attempts_running`:                                                            0,
		`foliot_claims_total{result="granted"}`:                                              2,
		`foliot_spans_total{result="exported"}`:                                              -1,
	}
	// An attempt is counted a moment after its settlement, on which --wait
	// waits. A scrape may read one of its series before it, and another after.
	text := ""
	servertest.Eventually(t, "the attempts are counted", func() bool {
		status, body := p.fetch("/metrics")
		if status != http.StatusOK {
			t.Fatalf("%d: %s", status, body)
		}
		text = body
		for series, want := range want {
			if got := scraped(t, text, series); got != want {
				t.Logf("%s is %v, want %v", series, got, want)
				return false
			}
		}
		return true
	})
	for _, series := range []string{"foliot_sync_seconds_count", "foliot_disk_free_bytes", "foliot_store_bytes", "foliot_slots_free", "foliot_api_connections"} {
		if got := scraped(t, text, series); got <= 0 {
			t.Errorf("%s is %v", series, got)
		}
	}
}

func TestATaskThatDiesAsTheStoreOpensIsCounted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := task.DefaultSpec()
	s.Name, s.ID, s.Request.URL = "poison", "id", "http://receiver.example/"
	for life := range task.MaxReclaims { // each server ends during the attempt
		p, err := pebblestore.Open(dir, pebblestore.Config{})
		fatal.If(t, err)
		now := task.FloorMillis(time.Now())
		if life == 0 {
			if _, err := p.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: s}})); err != nil {
				t.Fatal(err)
			}
		}
		poison, err := p.Get(t.Context(), s.Key)
		fatal.If(t, err)
		replies, err := p.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: s.Key, Lane: poison.Lane(), Token: "t", Until: now + 1000}}))
		fatal.If(t, errors.Join(err, replies[0].Err, p.Close()))
	}
	p := serveHere(t, "--listen", anyPort, "--data", dir)
	_, text := p.fetch("/metrics")
	const series = `foliot_dead_total{namespace="default",queue="default",reason="reclaims_exhausted"}`
	if n := scraped(t, text, series); n != 1 {
		t.Errorf("%s is %v, want 1", series, n)
	}
	p.signal(os.Interrupt)
	if _, log := p.exit(); !strings.Contains(log, `msg="a task died" namespace=default queue=default task=poison`) || !strings.Contains(log, "reason=reclaims_exhausted") {
		t.Errorf("the log does not report its death:\n%s", log)
	}
}

func TestADeliveryIsTracedFromItsCreate(t *testing.T) {
	batches := make(chan *tracepb.TracesData, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		batch := new(tracepb.TracesData)
		if err := proto.Unmarshal(body, batch); err != nil || r.Header.Get("X-Key") != "k" {
			t.Errorf("the collector got %v, key %q", err, r.Header.Get("X-Key"))
		}
		batches <- batch
	}))
	t.Cleanup(collector.Close)
	arrived := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Header.Get("Traceparent") }))
	t.Cleanup(receiver.Close)

	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=k")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	p := serveHere(t, "--listen", anyPort, "--data", filepath.Join(t.TempDir(), "data"))
	create(t, p.url, receiver.URL, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	sent := <-arrived
	p.signal(terminate)
	if code, log := p.exit(); code != exit.OK {
		t.Fatalf("it ended with %d:\n%s", code, log)
	}
	close(batches)
	var spans []string
	for batch := range batches {
		for _, s := range batch.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			spans = append(spans, s.GetName())
		}
	}
	slices.Sort(spans)
	if !slices.Equal(spans, []string{"POST /v1/tasks", "deliver"}) || !strings.HasSuffix(sent, "-01") {
		t.Errorf("the spans are %v, and the receiver was sent %q", spans, sent)
	}
}

// create creates a task that is due now, as part of a trace.
func create(t *testing.T, server, target, traceparent string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server+"/v1/tasks", strings.NewReader(`{"delay":"0s","http":{"url":"`+target+`"}}`))
	fatal.If(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", traceparent)
	reply, err := http.DefaultClient.Do(r)
	fatal.If(t, err)
	reply.Body.Close()
	if reply.StatusCode != http.StatusCreated {
		t.Fatalf("the create was answered %d", reply.StatusCode)
	}
}
