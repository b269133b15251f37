package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// put creates a task through s's API.
func (s *Server) put(t *testing.T, name, body string) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("PUT", "http://localhost/v1/tasks/"+name, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if s.API.ServeHTTP(w, r); w.Code != 201 {
		t.Fatal(w.Body)
	}
}

// get reads a reply of s's API.
func (s *Server) get(t *testing.T, path string, into any) {
	t.Helper()
	w := httptest.NewRecorder()
	s.API.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/"+path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != 200 {
		t.Fatal(w.Body, err)
	}
}

func TestRetentionIsAsConfigured(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "directory": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Dir = dir
			cfg.Store.Keep = task.Policy{KeepFinished: time.Hour, KeepDead: 10 * time.Hour}
			cfg.Store.AuditKeep = 5 * time.Hour
			n := runNodeWith(t, cfg, slog.New(slog.DiscardHandler), nil)
			n.put(t, "a", `{"delay": "1h", "http": {"url": "http://127.0.0.1:9/"}}`)
			w, r := httptest.NewRecorder(), httptest.NewRequest("DELETE", "http://localhost/v1/tasks/a", nil)
			r.Header.Set("Foliot-Client", "page")
			if n.API.ServeHTTP(w, r); w.Code != 200 {
				t.Fatal(w.Body)
			}
			key := task.Key{Namespace: task.DefaultNamespace, Name: "a"}
			after := func(d time.Duration) (kept bool, audited int) {
				t.Helper()
				if _, err := n.Node.Store.Sweep(t.Context(), task.FloorMillis(time.Now().Add(d)), 100); err != nil {
					t.Fatal(err)
				}
				_, err := n.Node.Store.Get(t.Context(), key)
				if err != nil && !errors.Is(err, task.ErrNotFound) {
					t.Fatal(err)
				}
				page, err2 := n.Node.Store.Audit(t.Context(), settings.AuditFilter{}, 0, 10)
				if err2 != nil {
					t.Fatal(err2)
				}
				return err == nil, len(page.Entries)
			}
			if kept, audited := after(59 * time.Minute); !kept || audited != 1 {
				t.Errorf("before its time: kept %v, %d entries of the audit log", kept, audited)
			}
			if kept, audited := after(61 * time.Minute); kept || audited != 1 {
				t.Errorf("after --keep-finished: kept %v, %d entries of the audit log", kept, audited)
			}
			if _, audited := after(6 * time.Hour); audited != 0 {
				t.Errorf("after --audit-keep: %d entries of the audit log", audited)
			}
		})
	}
}

func TestTheLogNamesDeadTasksAndOpenBreakers(t *testing.T) {
	cfg, j := testConfig(), servertest.NewJournal()
	cfg.Dispatch.BreakerFailures = 1
	n := runNodeWith(t, cfg, j.Logger(), nil)
	n.put(t, "a", `{"delay": "0s", "http": {"url": "http://127.0.0.1:1/"}, "retry": {"max_attempts": 1}}`)
	j.Await(t, `msg="a task died" namespace=default queue=default task=a`)
	j.Await(t, `msg="breaker opened" namespace=default destination=127.0.0.1:1 failures=1`)
}

func TestMetricsShowTheCertificate(t *testing.T) {
	cfg, files := testConfig(), servertest.NewAuthority(t).Files(servertest.InAYear())
	cfg.TLS = httpserver.TLSFiles{Cert: files.Cert, Key: files.Key}
	n := runNodeWith(t, cfg, slog.New(slog.DiscardHandler), nil)
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/metrics", nil)
	n.API.ServeHTTP(w, r)
	if want := "foliot_tls_files_broken 0\n"; !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), "foliot_tls_not_after_timestamp_seconds 1") {
		t.Errorf("the metrics say:\n%s", w.Body)
	}
}

func TestSettingsReachDispatchAtOnce(t *testing.T) {
	cfg := testConfig()
	n := runNodeWith(t, cfg, slog.New(slog.DiscardHandler), nil)
	hook := servertest.NewReceiver(t)
	hook.Release()
	decide := func(e settings.Edit) {
		t.Helper()
		replies, err := n.Node.Store.Configure(t.Context(), task.CeilMillis(time.Now()), []settings.Edit{e})
		fatal.If(t, errors.Join(err, replies[0].Err))
	}
	decide(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: task.DefaultQueue, Paused: true})
	n.put(t, "a", `{"delay": "0s", "http": {"url": "`+hook.URL+`"}}`)
	n.put(t, "b", `{"delay": "0s", "queue": "other", "http": {"url": "`+hook.URL+`"}}`)
	if name := hook.Next(t); name != "b" {
		t.Fatalf("%s arrived, of a queue that is paused", name)
	}
	if s := n.Node.Stats(); s.Claimed != 1 {
		t.Errorf("%d claims, want 1", s.Claimed)
	}
	decide(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: task.DefaultQueue})
	if name := hook.Next(t); name != "a" {
		t.Errorf("%s arrived", name)
	}
}

func TestAllPartsGoByOneClock(t *testing.T) {
	const ahead = time.Hour
	hook := servertest.NewReceiver(t)
	hook.Release()
	began := task.FloorMillis(time.Now().Add(ahead))
	n := runNode(t, func(n *Server) {
		n.Node.Clock = func() time.Time { return time.Now().Add(ahead) }
	})
	n.put(t, "a", `{"delay": "10ms", "http": {"url": "`+hook.URL+`"}}`)
	n.put(t, "waits", `{"delay": "1h", "queue": "doomed", "http": {"url": "`+hook.URL+`"}}`)
	if name := hook.Next(t); name != "a" {
		t.Errorf("%s arrived", name)
	}
	get := func(name string) (got *task.Task) {
		t.Helper()
		servertest.Eventually(t, name+" is finished", func() bool {
			var err error
			if got, err = n.Node.Store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name}); err != nil {
				t.Fatal(err)
			}
			return got.State.Finished()
		})
		return got
	}
	// Times set by the API, the dispatcher and the sender, and then by
	// maintenance.
	a := get("a")
	for what, at := range map[string]task.Millis{"created": a.CreatedAt, "begun": a.History[0].StartedAt, "finished": a.FinishedAt} {
		if at < began {
			t.Errorf("a was %s at %v, before the clock's %v", what, at.Time(), began.Time())
		}
	}
	if late := a.History[0].Late; late < 0 || late > ahead/2 {
		t.Errorf("a was late by %v", late)
	}
	replies, err := n.Node.Store.Configure(t.Context(), task.CeilMillis(n.Node.Clock()), []settings.Edit{settings.PurgeQueue{Namespace: task.DefaultNamespace, Name: "doomed"}})
	fatal.If(t, errors.Join(err, replies[0].Err))
	if waits := get("waits"); waits.Reason != task.ReasonPurged || waits.FinishedAt < began {
		t.Errorf("waits was cancelled at %v (%s), before the clock's %v", waits.FinishedAt.Time(), waits.Reason, began.Time())
	}
	var live wire.Live
	n.get(t, "live", &live)
	if at, err := time.Parse(time.RFC3339, live.At); err != nil || task.CeilMillis(at) < began {
		t.Errorf("the time of the live data is %v, %v", at, err)
	}
}

func TestAnAttemptAppearsInTheHistoryAndInTheRecentAttempts(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	n := runNode(t, nil)
	n.put(t, "good", `{"delay": "0s", "http": {"url": "`+hook.URL+`"}}`)
	n.put(t, "bad", `{"delay": "0s", "queue": "mail", "retry": {"max_attempts": 1}, "http": {"url": "http://127.0.0.1:1/"}}`)
	var all wire.AttemptList
	servertest.Eventually(t, "both attempts are recorded", func() bool {
		n.get(t, "attempts", &all)
		return len(all.Attempts) == 2
	})
	var bad wire.AttemptList
	n.get(t, "attempts?outcome=failed&queue=mail", &bad)
	if len(bad.Attempts) != 1 {
		t.Fatalf("%+v", bad)
	}
	if a := bad.Attempts[0]; a.Task != "bad" || a.Number != 1 || a.Destination != "127.0.0.1:1" || a.Status != 0 || a.Error == "" || !a.Dead || a.Reason != task.ReasonAttempts || a.Namespace != task.DefaultNamespace {
		t.Errorf("%+v", a)
	}
	var history wire.History
	n.get(t, "history?from=-10m", &history)
	var sum wire.Figures
	for _, s := range history.Steps {
		sum.Delivered, sum.Failed, sum.Dead, sum.Created, sum.Attempts = sum.Delivered+s.Delivered, sum.Failed+s.Failed, sum.Dead+s.Dead, sum.Created+s.Created, sum.Attempts+s.Attempts
	}
	if sum.Delivered != 1 || sum.Failed != 1 || sum.Dead != 1 || sum.Attempts != 2 || sum.Created < 2 || history.Step != "1m" || len(history.LateBoundsMS)+1 != len(history.Steps[0].Late) || len(history.Queues) != 2 {
		t.Errorf("%+v", history)
	}
}

func TestTheServerCountsItsTimers(t *testing.T) {
	n := runNode(t, nil)
	n.put(t, "soon", `{"delay": "4s", "http": {"url": "http://127.0.0.1:1/"}}`)
	n.put(t, "later", `{"delay": "1h", "http": {"url": "http://127.0.0.1:1/"}}`)
	var due wire.Due
	servertest.Eventually(t, "a timer waits for the task", func() bool {
		n.get(t, "due", &due)
		return due.Timers > 0
	})
	until, err := time.Parse(time.RFC3339, due.NearUntil)
	at, err2 := time.Parse(time.RFC3339, due.Time)
	if away := until.Sub(at); err != nil || err2 != nil || away < 5*time.Second || away > 10*time.Second || due.Scheduled < 1 {
		t.Errorf("%+v: %v, %v", due, err, err2)
	}
}

// The API and the record of attempts have the words of outcomes each for
// themselves.
func TestEveryOutcomeIsFoundByItsWord(t *testing.T) {
	n := runNode(t, nil)
	claimed, after := &task.Task{Namespace: "default", Name: "a", Queue: "default"}, &task.Task{State: task.Scheduled}
	for _, v := range []task.Verdict{task.Success, task.Failure, task.Snooze, task.Refusal, task.Interrupted} {
		n.Node.Attempts.Note(task.FloorMillis(n.Node.Now()), claimed, &task.Outcome{Verdict: v}, after)
	}
	n.Node.Attempts.Note(task.FloorMillis(n.Node.Now()), claimed, &task.Outcome{Verdict: task.Success}, nil)
	var all wire.AttemptList
	if n.get(t, "attempts", &all); len(all.Attempts) != 6 {
		t.Fatalf("%d attempts: %+v", len(all.Attempts), all)
	}
	for _, a := range all.Attempts {
		var found wire.AttemptList
		if n.get(t, "attempts?outcome="+a.Outcome, &found); len(found.Attempts) != 1 || found.Attempts[0].Outcome != a.Outcome {
			t.Errorf("%s: %+v", a.Outcome, found)
		}
	}
}
