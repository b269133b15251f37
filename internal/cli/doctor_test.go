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
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/wire"
)

// What doctor finds bad comes with a place to look, and with enough attempts
// that it is no accident.
func TestDoctorSaysWhatLatenessComesOf(t *testing.T) {
	for _, c := range []struct {
		count uint64
		p99   time.Duration
		bad   bool
		says  string
	}{
		{0, 0, false, ""},
		{2, time.Hour, false, "too few attempts to judge: 2"},
		{lateSample - 1, lateBound + 1, false, "too few attempts to judge: 99"},
		{lateSample, lateBound, false, "over 100 attempts\n"},
		{lateSample, lateBound + 1, true, "foliot top"},
	} {
		var out bytes.Buffer
		f := &findings{con: newConsole(nil, &out, &out, false)}
		f.live(&client.Live{Late: client.Lateness{Count: c.count, P99: c.p99}})
		if bad := f.bad == 1; bad != c.bad || !strings.Contains(out.String(), c.says) {
			t.Errorf("%d attempts, p99 %v: %s", c.count, c.p99, out.String())
		}
	}
}

// TestDoctorDataJudgesADiskAsAServerDoes: a small disk is not bad by itself.
func TestDoctorDataJudgesADiskAsAServerDoes(t *testing.T) {
	const mb, gb = 1 << 20, 1 << 30
	for _, c := range []struct {
		free, total uint64
		ok          bool
	}{
		{60 * mb, 64 * mb, true},
		{7 * mb, 64 * mb, true},
		{6 * mb, 64 * mb, false},
		{11 * gb, 1000 * gb, true},
		{9 * gb, 1000 * gb, false},
	} {
		var out bytes.Buffer
		f := &findings{con: newConsole(nil, &out, &out, false)}
		f.space(pebblestore.Space{Free: c.free, Total: c.total})
		if ok := f.bad == 0; ok != c.ok || strings.Contains(out.String(), "make room") == c.ok {
			t.Errorf("%d of %d MB free: %s", c.free/mb, c.total/mb, out.String())
		}
	}
}

// While the store is away nobody knows what waits there, and it is asked no more than it has to be.
func TestDoctorKnowsNothingOfTasksWhileTheStoreIsAway(t *testing.T) {
	t.Parallel() // it waits
	srv, asked := newStoreless(t)
	stdout, _, code := (&session{t: t, server: srv}).run("", "doctor")
	if code != exitFailure || asked.Load() != 4 { // each request twice: one about the servers, one to examine the store
		t.Errorf("it ended with %d after asking the store %d times", code, asked.Load())
	}
	for _, bad := range []string{"BAD  server       it answers, and does not reach its store", "BAD  overdue      not known", "BAD  schedules    not known", "BAD  dead         not known"} {
		if !strings.Contains(stdout, bad) {
			t.Errorf("it does not say %q:\n%s", bad, stdout)
		}
	}
	if strings.Contains(stdout, "ok   overdue") || strings.Contains(stdout, "ok   dead") {
		t.Error(stdout)
	}
}

// Who may not ask is told so; any other refusal is a fault.
func TestDoctorDoesNotTakeAFaultForASecret(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		says   string
	}{
		{http.StatusForbidden, `{"status": 403, "code": "operator_only", "detail": "told so"}`, "ok   server       it answers; about itself it tells operators alone"},
		{http.StatusInternalServerError, `{"status": 500, "code": "internal", "detail": "told so"}`, "BAD  server       it answers, and does not say how it is"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/live":
				fmt.Fprintf(w, `{"at": %q, "slots": 10, "queues": [], "destinations": []}`, wire.FormatTime(time.Now()))
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
		if bad := c.status != http.StatusForbidden; !strings.Contains(stdout, c.says) || (code == exitFailure) != bad {
			t.Errorf("%d ended with %d:\n%s", c.status, code, stdout)
		}
	}
}

func TestDoctorFindsShardsWithoutAnOwner(t *testing.T) {
	s := newShared(t)
	stdout, _, code := s.run("", "doctor")
	if code != exitFailure || !strings.Contains(stdout, "BAD  shards       1 of 4 have no owner, and nothing is delivered from them: within some seconds") {
		t.Errorf("%d:\n%s", code, stdout)
	}
	for _, node := range []string{"a", "b"} {
		s.run("", "cluster", "drain", node, "--force")
	}
	if stdout, _, _ = s.run("", "doctor"); !strings.Contains(stdout, "no server is to have any, as all are drained: foliot cluster drain NODE --undo") || !strings.Contains(stdout, "as it is drained") {
		t.Error(stdout)
	}
	if strings.Contains(stdout, "ok   overdue") && !strings.Contains(stdout, "in the shards of the server that was asked") {
		t.Errorf("it speaks for all servers:\n%s", stdout)
	}
}

func TestDoctorFindsServersOfOneName(t *testing.T) {
	for taken, want := range map[bool]string{
		false: "ok   server       a: version 1.2.3, up for 0s, ready: true; 1 shards of the 1 it is to own\n",
		true:  "BAD  server       a at h:1: another server has that name, or was killed with it some seconds ago, so this one delivers nothing; where that lasts, start it with a --node of its own\n",
	} {
		var out bytes.Buffer
		f := &findings{con: newConsole(nil, &out, &out, false)}
		f.node(&client.Node{Name: "a", Address: "h:1", Version: "1.2.3", Ready: !taken, NameTaken: taken, Owned: 1, Wanted: 1})
		if out.String() != want {
			t.Errorf("it says %q, want %q", out.String(), want)
		}
	}
}
