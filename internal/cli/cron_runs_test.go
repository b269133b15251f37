package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
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
	want := `run\tn@\d+\.t\w+ \(triggered \S+Z\) delivered: attempt 1, status 200, \S+ ms late(, waited \S+ ms)?, took \S+ ms\n` +
		`run\tn@\d+\.t\w+ \(triggered \S+Z\) dead \(attempts_exhausted\): attempt 1, status 503, \S+ ms late(, waited \S+ ms)?, took \S+ ms\n$`
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
	for cursor, requests := range map[string]int{"": 2, "more": 20} {
		asked := 0
		s := newSession(t)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if !strings.HasSuffix(r.URL.Path, "/tasks") {
				_, _ = io.WriteString(w, `{"name": "n", "every": "1s", "task": {"http": {"url": "http://127.0.0.1:9/"}}}`)
				return
			}
			asked++
			fmt.Fprintf(w, `{"tasks": [], "next_cursor": %q}`, cursor)
		}))
		s.server = srv.URL
		_, errs, code := s.run("", "cron", "get", "n")
		srv.Close()
		if code != exit.OK || asked != requests || strings.Contains(errs, "too many") != (cursor != "") {
			t.Errorf("it ended with %d after %d requests: %s", code, asked, errs)
		}
	}
}
