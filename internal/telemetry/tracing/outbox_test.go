package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

func attempts(t *testing.T, tr *Tracer, n int) {
	t.Helper()
	for range n {
		_, _, end := tr.Attempt(t.Context(), delivery(""))
		end(task.Outcome{Verdict: task.Success, Status: 200})
	}
}

// hanging returns a collector that accepts a batch but does not answer until
// the test ends.
func hanging(t *testing.T) *receiver {
	r, release := receive(t), make(chan struct{})
	r.answer = func(http.ResponseWriter) bool { <-release; return false }
	t.Cleanup(func() { close(release) })
	return r
}

func TestACollectorThatHangsCostsSpansAndNothingElse(t *testing.T) {
	const many = 2 * maxWaiting
	tr := tracer(t, hanging(t).URL)
	attempts(t, tr, many) // if one waited for the collector, it would wait until the end of the test
	c := countsOf(tr)
	if waiting := many - c.Dropped; waiting > maxWaiting+2*maxBatch {
		t.Errorf("%d spans are in memory, at most %d may be", waiting, maxWaiting+2*maxBatch)
	}
}

func TestAStopWaitsForTheCollectorNoLongerThanItMay(t *testing.T) {
	tr := tracer(t, hanging(t).URL)
	attempts(t, tr, maxBatch+7)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := tr.Close(ctx)
	if took := time.Since(began); err == nil || took > closeTimeout {
		t.Errorf("Close took %v and said %v", took, err)
	}
	if c := countsOf(tr); c.Failed+c.Dropped != maxBatch+7 {
		t.Errorf("%+v, want all %d accounted for", c, maxBatch+7)
	}
	attempts(t, tr, 1) // after the end: nothing blocks
}

func TestEverySpanThatWaitsIsExportedAtAStop(t *testing.T) {
	r := receive(t)
	tr := tracer(t, r.URL)
	attempts(t, tr, maxBatch+7)
	closed(t, tr)
	if c := countsOf(tr); c.Exported != maxBatch+7 || len(r.spans) != maxBatch+7 {
		t.Errorf("%+v, the collector has %d", c, len(r.spans))
	}
	if err := tr.Close(t.Context()); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestABusyCollectorIsAskedAgain(t *testing.T) {
	r := receive(t)
	var calls atomic.Int32
	r.answer = func(w http.ResponseWriter) bool {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return false
		}
		return true
	}
	tr := tracer(t, r.URL, func(c *Config) { c.Headers = map[string]string{"X-Key": "k"} })
	attempts(t, tr, 1)
	closed(t, tr)
	if c := countsOf(tr); c.Exported != 1 || calls.Load() != 2 {
		t.Errorf("%+v after %d calls", c, calls.Load())
	}
	if r.headers[0].Get("X-Key") != "k" {
		t.Error("the configured header was not sent")
	}
}

func TestACollectorThatRefusesIsLoggedOnceAndNotAskedAgain(t *testing.T) {
	for _, status := range []int{400, 401, 307} {
		r := receive(t)
		var calls atomic.Int32
		r.answer = func(w http.ResponseWriter) bool {
			calls.Add(1)
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			return false
		}
		var log bytes.Buffer
		tr := tracer(t, r.URL, func(c *Config) {
			c.Headers = map[string]string{"Authorization": "secret"}
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		attempts(t, tr, maxBatch+7)
		_ = tr.Close(t.Context()) // reports that some were not accepted
		if c := countsOf(tr); c.Failed != maxBatch+7 || calls.Load() < 2 || calls.Load() > 4 {
			t.Errorf("%d: %+v after %d calls", status, c, calls.Load())
		}
		if n := strings.Count(log.String(), "spans were lost: the export failed"); n != 1 || strings.Contains(log.String(), "secret") {
			t.Errorf("%d: logged %d times:\n%s", status, n, log.String())
		}
	}
}
