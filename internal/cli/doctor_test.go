package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	shows(t, stdout, "BAD  server       the server answers, but its store is unavailable", "BAD  overdue      unknown", "BAD  schedules    unknown", "BAD  dead         unknown")
	if strings.Contains(stdout, "ok   overdue") || strings.Contains(stdout, "ok   dead") {
		t.Error(stdout)
	}
}

// A missing permission is not a bad finding. Any other error is.
func TestDoctorDistinguishesErrorsFromMissingPermissions(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, says string
	}{
		{http.StatusForbidden, "operator_only", "ok   server       the server answers; its state is visible only with an operator's token"},
		{http.StatusInternalServerError, "internal", "BAD  server       the server answers, but its state cannot be read"},
	} {
		url := fake(t, map[string]string{"/v1/whoami": `{"namespace": "default"}`, "/v1/queues": `{"queues": []}`, "/v1/schedules": `{"schedules": []}`},
			func(w http.ResponseWriter, _ *http.Request) { refuse(w, c.status, c.code) })
		stdout, _, code := (&session{t: t, server: url}).run("", "doctor")
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

// The settings of the shell that runs the command do not matter.
func TestDoctorEgressGivesTheVerdictOfTheServerItAsks(t *testing.T) {
	dir := t.TempDir()
	token := makeToken(t, dir)
	p := serveHere(t, "--listen", anyPort, "--data", dir, "--egress-allow", "10.0.0.0/8")
	t.Setenv("FOLIOT_TOKEN", token)
	t.Setenv("FOLIOT_EGRESS_ALLOW", "192.168.0.0/16")
	t.Setenv("FOLIOT_EGRESS_DENY", "10.0.0.0/8")
	for _, c := range []struct {
		url  string
		code int
		out  string
		errs string
	}{
		{"http://10.1.2.3/", exit.OK, "10.1.2.3\topen\ta private address, in 10.0.0.0/8, which the configuration opens\n", ""},
		{"http://192.168.7.7/", exit.Denied, "192.168.7.7\tdenied\ta private address; --egress-allow 192.168.7.7/32 opens it\n", "egress_denied"},
		{"http://127.0.0.1:9000/", exit.Denied, "127.0.0.1\tdenied\ta loopback address", "egress_denied"},
		{p.url, exit.Denied, "an address of this server", "egress_denied"},
		{"http://169.254.169.254/", exit.Denied, "a cloud metadata address, which --egress-allow does not open", "egress_denied"},
		{"ftp://shop.test/", exit.Usage, "", "URL: must begin with http:// or https://"},
	} {
		if out, errs, code := p.foliot("doctor", "egress", c.url); code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (errs == "") != (c.errs == "") {
			t.Errorf("%s: exit %d, %q, %q", c.url, code, out, errs)
		}
	}
	var got wire.Egress
	out, _, code := p.foliot("doctor", "egress", "http://10.1.2.3/", "-o", "json")
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exit.OK || !got.Open || got.Addresses[0].Opener != "10.0.0.0/8" {
		t.Errorf("exit %d, %q: %v", code, out, err)
	}
	t.Setenv("FOLIOT_TOKEN", "")
	wants(t, exit.Failure, "token")(p.foliot("doctor", "egress", "http://10.1.2.3/"))
}

// Only the clock of the server decides if a schedule is overdue. A namespace
// with very many schedules is not read to the end.
func TestDoctorAsksForSchedulesWithinBounds(t *testing.T) {
	now := time.Now().Add(-time.Hour)
	pages := 0
	url := fake(t, map[string]string{"/v1/live": idle(now), "/v1/whoami": `{"namespace": "shop"}`, "/v1/queues": `{"queues": []}`}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/schedules" {
			http.NotFound(w, r)
			return
		}
		pages++
		one := fmt.Sprintf(`{"name": "n", "every": "1h", "state": "active", "next_at": %q, "task": {"http": {"url": "http://127.0.0.1:9/"}}}`, wire.FormatTime(now))
		fmt.Fprintf(w, `{"schedules": [%s%s], "next_cursor": "more"}`, one, strings.Repeat(","+one, 999))
	})
	out, _, _ := (&session{t: t, server: url}).run("", "doctor")
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
		out, _, _ := s.run("", s.words(args)...)
		shows(t, out, says...)
	}
}
