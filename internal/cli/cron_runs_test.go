package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/wire"
)

func TestAScheduleShowsHowItsLastRunsEnded(t *testing.T) {
	status := make(chan int, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(<-status) }))
	defer receiver.Close()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:", "--egress-allow", "127.0.0.0/8")
	p.must("cron", "add", "n", "@yearly", receiver.URL, "--max-attempts", "1", "--paused")
	for _, code := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		status <- code
		made := p.must("cron", "trigger", "n")
		name, _, _ := strings.Cut(strings.TrimPrefix(made, "created "), ",")
		_, _, _ = (&session{t: t, server: p.url}).run("", "get", name, "--wait")
	}
	shown := p.must("cron", "get", "n")
	want := `run\tn@\d+\.t\w+ \(triggered \S+Z\) delivered: attempt 1, status 200, \d+ ms late(, waited \S+ ms)?, took \S+ ms\n` +
		`run\tn@\d+\.t\w+ \(triggered \S+Z\) dead \(attempts_exhausted\): attempt 1, status 503, \d+ ms late(, waited \S+ ms)?, took \S+ ms\n$`
	if !regexp.MustCompile(want).MatchString(shown) {
		t.Errorf("shown is\n%s", shown)
	}
}

// The last runs are those of the latest instants, not of the latest creation. A
// triggered run is placed at the time of its trigger.
func TestTheLastFiveRunsAreShownTheLatestLast(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add hourly @hourly http://127.0.0.1:9/")
	s.must("", "cron trigger hourly")
	s.must("", "cron backfill hourly --from 2020-01-01T00:00:00Z --until 2020-01-01T12:00:00Z")
	s.must("", "cron backfill hourly --from 2019-01-01T00:00:00Z --until 2019-01-01T12:00:00Z")
	_, runs, _ := strings.Cut(s.must("", "cron get hourly"), "\nrun\t")
	runs = "run\t" + runs
	want := ""
	for hour := 9; hour <= 12; hour++ {
		want += fmt.Sprintf(`run\thourly@\d+\.b\w+ \(2020-01-01T%02d:00:00\.000Z\) scheduled\n`, hour)
	}
	if !regexp.MustCompile("^" + want + `run\thourly@\d+\.t\w+ \(triggered \S+Z\) scheduled\n$`).MatchString(runs) {
		t.Errorf("shown are\n%s", runs)
	}
	if got := s.must("", "cron get hourly -o json"); strings.Contains(got, "2020-01-01T12") || strings.Count(got, "\n") != 1 {
		t.Errorf("the object is\n%s", got)
	}
}

// A schedule that fires every second has created 86,400 tasks since yesterday.
// To find the last runs, the command must not read all of them.
func TestTheLastRunsAreFoundWithFewRequests(t *testing.T) {
	last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	runs := func(n int, before time.Duration) []any {
		list := []any{}
		for i := range n {
			at := wire.FormatTime(last.Add(-before - time.Duration(i)*time.Second))
			list = append(list, map[string]any{"name": fmt.Sprint("n@", i), "state": "delivered", "due_at": at, "created_at": at, "instant": at})
		}
		return list
	}
	for name, c := range map[string]struct {
		found    []int  // tasks at each bound
		cursor   string // next cursor of each page
		requests int
		shown    int
		before   time.Duration
	}{
		"they are dense":     {[]int{5, 0, 0}, "", 1, 5, 0},
		"some were skipped":  {[]int{2, 5, 0}, "", 2, 5, 0},
		"there are no more":  {[]int{2, 2, 3}, "", 3, 3, 0},
		"there is no end":    {[]int{5, 5, 5}, "more", 30, 0, 0},
		"there was none yet": {[]int{0, 0, 0}, "", 3, 0, 0},
		"they are retried":   {[]int{5, 5, 5}, "", 3, 5, time.Hour}, // later runs may be finished
	} {
		asked := []string{}
		s := newSession(t)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if !strings.HasSuffix(r.URL.Path, "/tasks") {
				fmt.Fprintf(w, `{"name": "n", "every": "1s", "last_at": %q, "task": {"http": {"url": "http://127.0.0.1:9/"}}}`, wire.FormatTime(last))
				return
			}
			asked = append(asked, r.URL.Query().Get("due_after"))
			found := c.found[min(len(asked)-1, 2)]
			_ = json.NewEncoder(w).Encode(map[string]any{"tasks": runs(found, c.before), "next_cursor": c.cursor})
		}))
		s.server = srv.URL
		out, errs, code := s.run("", "cron", "get", "n")
		srv.Close()
		if code != exit.OK || len(asked) != c.requests || strings.Count(out, "\nrun\t") != c.shown || strings.Contains(errs, "too many") != (c.cursor != "") {
			t.Errorf("%s: it ended with %d after %d requests: %s%s", name, code, len(asked), out, errs)
		}
		if c.shown > 0 && !strings.Contains(out[strings.LastIndex(out, "run\t"):], "("+wire.FormatTime(last.Add(-c.before))+")") {
			t.Errorf("%s: the latest is not the last:\n%s", name, out)
		}
		if asked[0] != "2026-01-02T03:03:59.999Z" {
			t.Errorf("%s: it began at %s", name, asked[0])
		}
	}
}
