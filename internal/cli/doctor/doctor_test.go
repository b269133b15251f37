package doctor

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/wire"
)

// printing returns a report that prints its findings as lines.
func printing() (*Report, *bytes.Buffer) {
	out := new(bytes.Buffer)
	return NewReport(func(found wire.Finding) error {
		_, err := fmt.Fprintln(out, Line(found))
		return err
	}, error.Error), out
}

// A bad finding names a command that shows more. It needs enough attempts, so
// that a single late one is not reported.
func TestDoctorNamesTheCausesOfLateness(t *testing.T) {
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
		f, out := printing()
		f.live(&admin.Live{Late: admin.Lateness{Count: c.count, P99: c.p99}, Waited: admin.Lateness{Count: c.count, P99: time.Hour, Max: time.Hour}})
		if bad := f.bad == 1; bad != c.bad || !strings.Contains(out.String(), c.says) {
			t.Errorf("%d attempts, p99 %v: %s", c.count, c.p99, out.String())
		}
	}
}

// A server refuses the token of a namespace, also while its store is unavailable.
func TestAStoreThatTheCallerMayNotExamineIsNoProblem(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer srv.Close()
	api, err := client.New(srv.URL, client.Options{})
	fatal.If(t, err)
	defer api.Close()
	f, out := printing()
	if f.store(t.Context(), api); f.bad != 0 || !strings.Contains(out.String(), "only with an operator's token") {
		t.Error(out.String())
	}
}

func TestDoctorFindsServersWithTheSameName(t *testing.T) {
	for taken, want := range map[bool]string{
		false: "ok   server       a: version 1.2.3, up for 0s, ready: true; owns 1 shards, should own 1\n",
		true:  "BAD  server       a at h:1: another server uses the same name, or was killed some seconds ago, so this server delivers nothing; if this state lasts, start this server with a different --node\n",
	} {
		f, out := printing()
		f.node(&admin.Node{Name: "a", Address: "h:1", Version: "1.2.3", Ready: !taken, NameTaken: taken, Owned: 1, Wanted: 1})
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
}

func TestDoctorReportsSchedulesThatDoNotFire(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		list []*client.Schedule
		bad  int
		says string
	}{
		"none": {nil, 0, "ok   schedules    the namespace shop has none\n"},
		"in time": {
			[]*client.Schedule{{NextAt: at.Add(-overdueBound)}, {NextAt: at.Add(time.Hour)}, {State: client.SchedulePaused}},
			0, "ok   schedules    3 in the namespace shop, none overdue or stuck\n",
		},
		"overdue": {
			[]*client.Schedule{{Name: "a", NextAt: at.Add(-6 * time.Second)}, {Name: "b", NextAt: at.Add(-time.Minute)}, {Name: "c", NextAt: at}},
			1, "BAD  schedules    the instants of 2 are overdue, the oldest (b) for 1m: the store refuses their tasks",
		},
		"stuck": {
			[]*client.Schedule{{Name: "a", Problem: "time zone \"X/Y\" is unknown", NextAt: at.Add(-time.Hour)}, {Name: "b", NextAt: at}},
			1, "BAD  schedules    stuck schedules, which create no tasks: 1, the first (a): time zone \"X/Y\" is unknown; foliot cron ls shows the others\n",
		},
	} {
		f, out := printing()
		f.namespace = "shop"
		var found schedulesFound
		for _, s := range c.list {
			found.take(s, at)
		}
		f.scheduled(&found, at)
		if f.bad != c.bad || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %d findings are bad, want %d:\n%s", name, f.bad, c.bad, out.String())
		}
	}
}

func TestDoctorNamesQueuesWithoutAHandler(t *testing.T) {
	f, out := printing()
	f.overdue(&admin.Live{Queues: []admin.LiveQueue{{Namespace: "shop", Queue: "mails", Overdue: 2, LimitedBy: "runner"}}}, false)
	const want = "BAD  runner       2 due tasks of shop/mails, but no process runs them: start a process with a handler for the kind, or cancel the tasks\n"
	if out.String() != want || f.bad != 1 {
		t.Errorf("%d bad:\n%s", f.bad, out.String())
	}
	f.overdue(&admin.Live{Queues: []admin.LiveQueue{{Namespace: "shop", Queue: "mails", Overdue: 2, LimitedBy: "runner"}}}, true)
	if !strings.Contains(out.String(), "this server owns their shards and has no handler for the kind: if it is foliot serve, stop it") {
		t.Errorf("on a shared store:\n%s", out.String())
	}
}

func TestDoctorNamesHeldQueues(t *testing.T) {
	f, out := printing()
	f.overdue(&admin.Live{Queues: []admin.LiveQueue{{Namespace: "shop", Queue: "mails", LimitedBy: "pause"}, {Namespace: "shop", Queue: "late", Overdue: 2, Oldest: time.Minute}}}, false)
	for _, says := range []string{"ok   held         the tasks of shop/mails are not sent: pause", "BAD  overdue      2 tasks of shop/late, the oldest for 1m"} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("the report lacks %q:\n%s", says, out.String())
		}
	}
}

func TestDoctorWarnsBeforeTheCertificateExpires(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		valid, left time.Duration
		want        string
	}{
		{365 * day, 29 * day, "ok   certificate  it expires 2030-01-31T03:00:00.000Z, in 29 days\n"},
		{365 * day, 5 * day, "BAD  certificate  it expires 2030-01-07T03:00:00.000Z, in 5 days: renew it, or no client can connect after that\n"},
		{6 * day, 2 * day, "ok   certificate  it expires 2030-01-04T03:00:00.000Z, in 2 days\n"}, // a program renews it
		{day, time.Hour, "BAD  certificate  it expires 2030-01-02T04:00:00.000Z, in 1h: renew it, or no client can connect after that\n"},
	} {
		f, out := printing()
		f.certificate(&x509.Certificate{NotBefore: now.Add(c.left - c.valid), NotAfter: now.Add(c.left)}, now)
		if out.String() != c.want {
			t.Errorf("got %q, want %q", out.String(), c.want)
		}
	}
	f, out := printing()
	if f.certificate(nil, now); out.Len() > 0 {
		t.Errorf("without TLS: %q", out.String())
	}
}

// Three queues of two namespaces wait for it, and other tasks wait for a rate.
func TestADestinationThatIsDownIsOneLine(t *testing.T) {
	f, out := printing()
	live := &admin.Live{
		Destinations: []admin.LiveDestination{
			{Namespace: "a", Destination: "down.test:443", Breaker: "open", Overdue: 5},
			{Namespace: "b", Destination: "down.test:443", Breaker: "half-open", Overdue: 2},
			{Namespace: "b", Destination: "up.test:443", Breaker: "closed", Overdue: 9},
		},
		Queues: []admin.LiveQueue{
			{Namespace: "a", Queue: "x", Overdue: 4, Oldest: time.Hour, LimitedBy: "breaker"},
			{Namespace: "a", Queue: "y", Overdue: 1, Oldest: time.Hour, LimitedBy: "breaker"},
			{Namespace: "b", Queue: "x", Overdue: 2, Oldest: time.Hour, LimitedBy: "breaker"},
			{Namespace: "b", Queue: "slow", Overdue: 9, Oldest: time.Hour, LimitedBy: "rate"},
		},
	}
	f.live(live)
	f.overdue(live, false)
	want := "BAD  breaker      down.test:443 failed repeatedly, so its breaker is not closed: 7 due tasks of a, b wait and use no attempts. Correct the receiver; foliot tail shows its errors\n" +
		"BAD  overdue      9 tasks of b/slow, the oldest for 1h; waiting for: rate\n"
	if out.String() != want || f.bad != 2 {
		t.Errorf("%s", out.String())
	}
}

func TestDeadTasksAreAWarning(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"queues": [{"name": "q", "counts": {"dead": 2}}, {"name": "r", "counts": {"dead": 3}}]}`)
	}))
	defer srv.Close()
	api, err := client.New(srv.URL, client.Options{})
	fatal.If(t, err)
	defer api.Close()
	f, out := printing()
	f.namespace = "shop"
	fatal.If(t, f.dead(t.Context(), api, false))
	want := "WARN dead         dead tasks: 5 in shop; foliot ls --state dead --sort ended --namespace NAME shows the reasons\n"
	if out.String() != want || f.bad != 0 {
		t.Errorf("%d bad:\n%s", f.bad, out.String())
	}
}
