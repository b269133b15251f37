package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestBenchMeasuresAServer(t *testing.T) {
	p := serveProcess(t, "--listen", anyPort, "--store", "memory:")
	var got benchReport
	if err := json.Unmarshal([]byte(p.must("bench", "--tasks", "200", "--over", "200ms", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tasks != 200 || got.Arrived != 200 || got.Lost+got.Early+got.Duplicates != 0 || got.LateMaxMS <= 0 || got.CreatesPerS <= 0 {
		t.Errorf("%+v", got)
	}
	if left := p.must("ls", "--queue", "foliot-bench", "--state", "scheduled"); left != "" {
		t.Errorf("it left behind: %s", left)
	}
}

func TestBenchCountsLostEarlyAndDuplicateCallbacks(t *testing.T) {
	b := &benchTarget{want: 4, all: make(chan struct{})}
	now := time.Now()
	due := []time.Time{now.Add(-time.Second), now.Add(-time.Second), now.Add(time.Hour), now}
	for _, name := range []string{"bench-x-0", "bench-x-1", "bench-x-1", "bench-x-2"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Foliot-Task", name)
		b.ServeHTTP(httptest.NewRecorder(), r)
	}
	stranger := httptest.NewRecorder()
	b.ServeHTTP(stranger, httptest.NewRequest(http.MethodPost, "/", nil))
	var got benchReport
	b.judge(due, &got)
	if got.Arrived != 3 || got.Lost != 1 || got.Early != 1 || got.Duplicates != 1 || stranger.Code != http.StatusGone {
		t.Errorf("%+v, a stranger's got %d", got, stranger.Code)
	}
	if got.LateMaxMS < 900 || got.LateMaxMS > 60_000 {
		t.Errorf("%+v", got)
	}
}
