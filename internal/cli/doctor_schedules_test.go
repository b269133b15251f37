package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Only the clock of the server decides if a schedule is overdue. A namespace
// with very many schedules is not read to the end.
func TestDoctorAsksForSchedulesWithinBounds(t *testing.T) {
	now := time.Now().Add(-time.Hour)
	pages := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/live":
			fmt.Fprintf(w, `{"now": %[1]q, "at": %[1]q, "slots": 10, "queues": [], "destinations": []}`, wire.FormatTime(now))
		case "/v1/whoami":
			fmt.Fprint(w, `{"namespace": "shop"}`)
		case "/v1/queues":
			fmt.Fprint(w, `{"queues": []}`)
		case "/v1/schedules":
			pages++
			one := fmt.Sprintf(`{"name": "n", "every": "1h", "state": "active", "next_at": %q, "task": {"http": {"url": "http://127.0.0.1:9/"}}}`, wire.FormatTime(now))
			fmt.Fprintf(w, `{"schedules": [%s%s], "next_cursor": "more"}`, one, strings.Repeat(","+one, 999))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	out, _, _ := (&session{t: t, server: srv.URL}).run("", "doctor")
	if want := "ok   schedules    of the first 10000 in the namespace shop, none is overdue or stuck; the other schedules were not examined\n"; !strings.Contains(out, want) || pages > 10_000/1000+1 {
		t.Errorf("%d pages:\n%s", pages, out)
	}
}

func TestDoctorReportsTheSchedulesOfAServer(t *testing.T) {
	s := &session{t: t, server: serveHere(t, "--listen", anyPort, "--store", "memory:").url}
	s.must("", "cron add n @daily http://127.0.0.1:9/")
	if out, _, _ := s.run("", "doctor"); !strings.Contains(out, "ok   schedules    1 in the namespace default, none overdue or stuck\n") {
		t.Error(out)
	}
}
