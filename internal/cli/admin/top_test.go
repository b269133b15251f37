package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/fatal"
)

// A server sends three samples, then the stream ends, and then the server is
// unavailable.
func TestTopShowsEachSample(t *testing.T) {
	for _, isScreen := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		var requests atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) > 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "data: {\"at\":\"2030-01-01T00:00:00.000Z\",\"running\":%d,\"slots\":9,\"queues\":[],\"destinations\":[]}\n\n", i)
			}
		}))
		api, err := client.New(s.URL, client.Options{Retry: client.RetryPolicy{Attempts: 2, MinBackoff: time.Millisecond}})
		fatal.If(t, err)
		out := &screen{shown: stop, until: "503"}
		err = (&Top{}).Run(ctx, &console.Console{Out: out, OutTerm: isScreen}, api)
		text := out.String()
		if n := strings.Count(text, "of 9"); n != 3+strings.Count(text, "503") || !strings.Contains(text, "running 0 of 9") {
			t.Errorf("screen %v: %d samples:\n%s", isScreen, n, text)
		}
		if (err == nil) != isScreen || isScreen && !(strings.HasPrefix(text, clearScreen) && strings.Contains(text, "503")) {
			t.Errorf("screen %v: error %v, %q", isScreen, err, text)
		}
		stop()
		api.Close()
		s.Close()
	}
}

// screen calls shown after a text was written.
type screen struct {
	strings.Builder
	shown func()
	until string
}

func (s *screen) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.until) {
		defer s.shown()
	}
	return s.Builder.Write(p)
}

func TestTopShowsWhatIsOverdueAndWhy(t *testing.T) {
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	before := &client.Live{At: at.Add(-2 * time.Second), Attempts: client.AttemptTotals{Delivered: 100, Failed: 4}}
	live := &client.Live{
		At: at, Running: 7, Slots: 1024,
		Late:     client.Lateness{Count: 3, P50: 1500 * time.Microsecond, P99: 9 * time.Millisecond, Max: 2 * time.Second},
		Waited:   client.Lateness{Count: 3, P99: 10 * time.Minute, Max: 11 * time.Minute},
		Attempts: client.AttemptTotals{Delivered: 300, Failed: 5, Dead: 1},
		Queues: []client.LiveQueue{
			{Namespace: "default", Queue: "mail", Running: 5, Overdue: 12, Oldest: 90 * time.Second, LimitedBy: "rate"},
			{Namespace: "acme", Queue: "default", Running: 2},
		},
		Destinations: []client.LiveDestination{
			{Namespace: "default", Destination: "shop\x1b[2J:443", Overdue: 12, Oldest: 250 * time.Millisecond, Breaker: "open", OpenUntil: at.Add(time.Second)},
		},
	}
	const want = `foliot  2026-11-20T20:00:00.000Z   running 7 of 1024
lateness of the last minute: p50 1.5 ms, p99 9.0 ms, max 2s over 3 attempts
waited for receivers, limits and pauses: p50 0.0 ms, p99 10m0s, max 11m0s
attempts: 300 delivered, 5 failed, 0 deferred, 0 refused; 1 task dead   (100 delivered, 0 failed a second)

QUEUE         RUNNING  OVERDUE  OLDEST  LIMITED BY
mail          5        12       1m30s   rate
acme/default  2        0                

DESTINATION      RUNNING  OVERDUE  OLDEST  BREAKER
shop\x1b[2J:443  0        12       250ms   open until 2026-11-20T20:00:01.000Z
`
	got := topScreen(live, before, 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range 40 {
		live.Queues = append(live.Queues, client.LiveQueue{Queue: "q" + string(rune('a'+i%26))})
	}
	if short := topScreen(live, nil, 24); strings.Count(short, "\n") > 24 || !strings.Contains(short, "… and 35 more") {
		t.Errorf("%d lines:\n%s", strings.Count(short, "\n"), short)
	}
}

// Zeros in place of unknown numbers would mean that there is no problem.
func TestTopShowsNoUnknownNumbers(t *testing.T) {
	screen := topScreen(&client.Live{}, nil, 0)
	if strings.Contains(screen, "p99") || !strings.Contains(screen, "an operator's token") {
		t.Error(screen)
	}
}
