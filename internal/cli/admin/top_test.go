package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/fatal"
)

// served answers requests without a network, so that the test can use fake time.
type served func() (status int, body string)

func (f served) RoundTrip(*http.Request) (*http.Response, error) {
	status, body := f()
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A server sends three samples, and then it is unavailable.
func TestTopShowsEachSample(t *testing.T) {
	for _, isScreen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			requests := 0
			server := served(func() (int, string) {
				if requests++; requests > 3 {
					return http.StatusServiceUnavailable, ""
				}
				return http.StatusOK, fmt.Sprintf(`{"at":"2030-01-01T00:00:00.000Z","running":%d,"slots":9,"queues":[],"destinations":[]}`, requests-1)
			})
			api, err := client.New("http://foliot.test", client.Options{HTTPClient: &http.Client{Transport: server}, Retry: client.RetryPolicy{Attempts: 2}})
			fatal.If(t, err)
			out := &screen{shown: stop, until: "503"}
			began := time.Now()
			err = (&Top{}).Run(ctx, &console.Console{Out: out, OutTerm: isScreen}, api)
			text := out.String()
			if n := strings.Count(text, "of 9"); n != 3+strings.Count(text, "503") || !strings.Contains(text, "running 0 of 9") || time.Since(began) < 3*time.Second {
				t.Errorf("screen %v: %d samples in %v:\n%s", isScreen, n, time.Since(began), text)
			}
			if (err == nil) != isScreen || isScreen && !(strings.HasPrefix(text, clearScreen) && strings.Contains(text, "503")) {
				t.Errorf("screen %v: error %v, %q", isScreen, err, text)
			}
		})
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
	before := &admin.Live{At: at.Add(-2 * time.Second), Attempts: admin.AttemptTotals{Delivered: 100, Failed: 4}}
	live := &admin.Live{
		At: at, Running: 7, Slots: 1024,
		Late:     admin.Lateness{Count: 3, P50: 1500 * time.Microsecond, P99: 9 * time.Millisecond, Max: 2 * time.Second},
		Waited:   admin.Lateness{Count: 3, P99: 10 * time.Minute, Max: 11 * time.Minute},
		Attempts: admin.AttemptTotals{Delivered: 300, Failed: 5, Dead: 1},
		Queues: []admin.LiveQueue{
			{Namespace: "default", Queue: "mail", Running: 5, Overdue: 12, Oldest: 90 * time.Second, LimitedBy: "rate"},
			{Namespace: "acme", Queue: "default", Running: 2},
		},
		Destinations: []admin.LiveDestination{
			{Namespace: "default", Destination: "shop\x1b[2J:443", Overdue: 12, Oldest: 250 * time.Millisecond, Breaker: "open", OpenUntil: at.Add(time.Second)},
		},
	}
	const want = `foliot  2026-11-20T20:00:00.000Z   running 7 of 1024
lateness of the last minute: p50 1.5 ms, p99 9.0 ms, max 2s over 3 attempts
waited for receivers, limits and pauses: p50 0.0 ms, p99 10m, max 11m
attempts: 300 delivered, 5 failed, 0 snoozed, 0 refused; 1 task dead   (100 delivered, 0 failed a second)

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
		live.Queues = append(live.Queues, admin.LiveQueue{Queue: "q" + string(rune('a'+i%26))})
	}
	if short := topScreen(live, nil, 24); strings.Count(short, "\n") > 24 || !strings.Contains(short, "… and 35 more") {
		t.Errorf("%d lines:\n%s", strings.Count(short, "\n"), short)
	}
}

// Zeros in place of unknown numbers would mean that there is no problem.
func TestTopShowsNoUnknownNumbers(t *testing.T) {
	screen := topScreen(&admin.Live{}, nil, 0)
	if strings.Contains(screen, "p99") || !strings.Contains(screen, "an operator's token") {
		t.Error(screen)
	}
}
