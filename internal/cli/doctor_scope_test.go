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

func TestDoctorNamesTheNamespacesThatItExamined(t *testing.T) {
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	s := &session{t: t, server: p.url}
	if out, _, _ := s.run("", "doctor"); !strings.Contains(out, "schedules    the namespace default has none\n") {
		t.Errorf("without other namespaces:\n%s", out)
	}
	s.must("", "namespace set shop")
	for args, says := range map[string][]string{
		"doctor":                  {"no task of any namespace is dead", "the namespace default has none; --namespace NAME examines another namespace"},
		"doctor --namespace shop": {"no task of the namespace shop is dead", "schedules    the namespace shop has none\n"},
	} {
		out, stderr, _ := s.run("", s.words(args)...)
		for _, want := range says {
			if !strings.Contains(out, want) {
				t.Errorf("foliot %s does not say %q:\n%s%s", args, want, out, stderr)
			}
		}
	}
}

// A program that serves the API decides itself which requests it accepts.
func TestDoctorClaimsThatRequestsNeedATokenOnlyIfTheyDo(t *testing.T) {
	for _, c := range []struct {
		status int // of a request without a token
		says   string
	}{
		{http.StatusOK, "ok   access       decided by the program that serves the API: a request without a token was accepted"},
		{http.StatusUnauthorized, "ok   access       requests need a token"},
		{http.StatusForbidden, "ok   access       requests without a token fail: "},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" && c.status != http.StatusOK {
				w.WriteHeader(c.status)
				return
			}
			switch r.URL.Path {
			case "/v1/live":
				fmt.Fprintf(w, `{"now": %[1]q, "at": %[1]q, "slots": 10, "queues": [], "destinations": []}`, wire.FormatTime(time.Now()))
			case "/v1/cluster":
				fmt.Fprint(w, `{"store": "embedded", "durability": "synced", "secured": true, "nodes": []}`)
			case "/v1/whoami":
				fmt.Fprint(w, `{"namespace": "default", "scope": "admin", "secured": true}`)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		t.Setenv("FOLIOT_TOKEN", "foliot_x")
		out, stderr, _ := (&session{t: t, server: srv.URL}).run("", "doctor")
		srv.Close()
		if strings.Count(out, "access ") != 1 || !strings.Contains(out, c.says) {
			t.Errorf("it does not say %q:\n%s%s", c.says, out, stderr)
		}
	}
}
