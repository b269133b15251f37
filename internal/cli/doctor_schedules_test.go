package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/wire"
)

func TestDoctorSaysWhichSchedulesDoNotFire(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	skipped := func(ago time.Duration) *client.SkippedInstants {
		return &client.SkippedInstants{From: at.Add(-ago), Until: at.Add(-ago), Why: "misfire"}
	}
	for name, c := range map[string]struct {
		list []*client.Schedule
		bad  int
		says string
	}{
		"none": {nil, 0, "ok   schedules    this namespace has none\n"},
		"in time": {
			[]*client.Schedule{{NextAt: at.Add(-overdueBound)}, {NextAt: at.Add(time.Hour)}, {State: client.SchedulePaused}},
			0, "ok   schedules    3 of this namespace, nothing overdue, and none stuck\n",
		},
		"overdue": {
			[]*client.Schedule{{Name: "a", NextAt: at.Add(-6 * time.Second)}, {Name: "b", NextAt: at.Add(-time.Minute)}, {Name: "c", NextAt: at}},
			1, "BAD  schedules    the instants of 2 are overdue, the oldest (b) for 1m0s: the store takes nothing",
		},
		"stuck": {
			[]*client.Schedule{{Name: "a", Problem: "time zone \"X/Y\" is unknown", NextAt: at.Add(-time.Hour)}, {Name: "b", NextAt: at}},
			1, "BAD  schedules    a cannot be followed, and makes no task: time zone \"X/Y\" is unknown\n",
		},
		"skipped": {
			[]*client.Schedule{{Name: "a", LastSkipped: skipped(time.Hour)}, {Name: "b", LastSkipped: skipped(time.Minute)}, {Name: "c", LastSkipped: skipped(25 * time.Hour)}},
			0, "ok   schedules    3 of this namespace, nothing overdue, and none stuck\n" +
				"ok   schedules    2 skipped instants in the last 24h0m0s, the latest (b) 2030-01-02T02:59:00.000Z (misfire): foliot cron get NAME says",
		},
		"many stuck": {
			[]*client.Schedule{{Problem: "p"}, {Problem: "p"}, {Problem: "p"}, {Problem: "p"}, {Problem: "p"}, {Problem: "p"}, {Problem: "p"}},
			toldProblems + 1, "BAD  schedules    and 2 more cannot be followed: foliot cron ls calls them stuck\n",
		},
	} {
		var out bytes.Buffer
		f := &findings{con: newConsole(nil, &out, &out, false)}
		var found schedulesFound
		for _, s := range c.list {
			found.take(s, at)
		}
		f.scheduled(&found, at)
		if f.bad != c.bad || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %d are bad, %d wanted:\n%s", name, f.bad, c.bad, out.String())
		}
	}
}

// The server's clock alone says what is overdue, and a namespace with very many is not read to its end.
func TestDoctorAsksForSchedulesWithinBounds(t *testing.T) {
	now := time.Now().Add(-time.Hour)
	pages := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/live":
			fmt.Fprintf(w, `{"at": %q, "slots": 10, "queues": [], "destinations": []}`, wire.FormatTime(now))
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
	if want := "ok   schedules    nothing overdue, and none stuck, of the first 10000 of this namespace; the others were not examined\n"; !strings.Contains(out, want) || pages > examinedSchedules/1000+1 {
		t.Errorf("%d pages:\n%s", pages, out)
	}
}

func TestDoctorOfAServerIsToldOfItsSchedules(t *testing.T) {
	s := &session{t: t, server: serveProcess(t, "--listen", anyPort, "--store", "memory:").url}
	s.must("", "cron add n @daily http://127.0.0.1:9/")
	if out, _, _ := s.run("", "doctor"); !strings.Contains(out, "ok   schedules    1 of this namespace, nothing overdue, and none stuck\n") {
		t.Error(out)
	}
}
