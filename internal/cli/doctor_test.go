package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/wire"
)

// While the store is unavailable, nothing is known about tasks. The doctor must
// send as few requests as possible.
func TestDoctorReportsTasksAsUnknownWhileTheStoreIsUnavailable(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	t.Parallel() // it waits for the server
	srv, asked := newStoreless(t)
	stdout, _, code := (&session{t: t, server: srv}).run("", "doctor")
	if code != exit.Failure || asked.Load() != 4 { // two requests, about the servers and to examine the store, each sent twice
		t.Errorf("it ended with %d after asking the store %d times", code, asked.Load())
	}
	for _, bad := range []string{"BAD  server       the server answers, but its store is unavailable", "BAD  overdue      unknown", "BAD  schedules    unknown", "BAD  dead         unknown"} {
		if !strings.Contains(stdout, bad) {
			t.Errorf("it does not say %q:\n%s", bad, stdout)
		}
	}
	if strings.Contains(stdout, "ok   overdue") || strings.Contains(stdout, "ok   dead") {
		t.Error(stdout)
	}
}

// A missing permission is not a bad finding. Any other error is.
func TestDoctorDistinguishesErrorsFromMissingPermissions(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		says   string
	}{
		{http.StatusForbidden, `{"status": 403, "code": "operator_only", "detail": "told so"}`, "ok   server       the server answers; its state is visible only with an operator's token"},
		{http.StatusInternalServerError, `{"status": 500, "code": "internal", "detail": "told so"}`, "BAD  server       the server answers, but its state cannot be read"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/live":
				fmt.Fprintf(w, `{"now": %[1]q, "at": %[1]q, "slots": 10, "queues": [], "destinations": []}`, wire.FormatTime(time.Now()))
			case "/v1/whoami":
				fmt.Fprint(w, `{"namespace": "default"}`)
			case "/v1/queues":
				fmt.Fprint(w, `{"queues": []}`)
			case "/v1/schedules":
				fmt.Fprint(w, `{"schedules": []}`)
			default:
				w.Header().Set("Content-Type", wire.ProblemType)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}
		}))
		t.Cleanup(srv.Close)
		stdout, _, code := (&session{t: t, server: srv.URL}).run("", "doctor")
		if bad := c.status != http.StatusForbidden; !strings.Contains(stdout, c.says) || (code == exit.Failure) != bad {
			t.Errorf("%d ended with %d:\n%s", c.status, code, stdout)
		}
	}
}

func TestDoctorFindsShardsWithoutAnOwner(t *testing.T) {
	s := newShared(t)
	stdout, _, code := s.run("", "doctor")
	if code != exit.Failure || !strings.Contains(stdout, "BAD  shards       1 of 4 have no owner, so their tasks are not delivered: a server should take them within seconds") {
		t.Errorf("%d:\n%s", code, stdout)
	}
	for _, node := range []string{"a", "b"} {
		s.run("", "cluster", "drain", node, "--force")
	}
	if stdout, _, _ = s.run("", "doctor"); !strings.Contains(stdout, "all servers are drained: run foliot cluster drain NODE --undo") || !strings.Contains(stdout, "because it is drained") {
		t.Error(stdout)
	}
	if strings.Contains(stdout, "ok   overdue") && !strings.Contains(stdout, "in the shards of this server") {
		t.Errorf("it speaks for all servers:\n%s", stdout)
	}
}
