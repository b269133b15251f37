package receive

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

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
	b.summarize(due, &got)
	if got.Arrived != 3 || got.Lost != 1 || got.Early != 1 || got.Duplicates != 1 || stranger.Code != http.StatusGone {
		t.Errorf("%+v, a stranger's got %d", got, stranger.Code)
	}
	if got.LateMaxMS < 900 || got.LateMaxMS > 60_000 {
		t.Errorf("%+v", got)
	}
}
