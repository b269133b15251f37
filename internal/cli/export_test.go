package cli

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// moveTest has two servers, and a file that the first exports and the second
// imports.
type moveTest struct {
	*testing.T
	from, to       *session
	source, target *memstore.Store
}

func newMoveTest(t *testing.T) *moveTest {
	m := &moveTest{T: t}
	m.from, m.source = m.serve()
	m.to, m.target = m.serve()
	return m
}

func (m *moveTest) serve() (*session, *memstore.Store) {
	store := memstore.New(memstore.Config{})
	server := httptest.NewServer(api.New(api.Config{Engine: servertest.Engine{}, Log: slog.New(slog.DiscardHandler)}, store))
	m.Cleanup(func() {
		server.Close()
		store.Close()
	})
	return &session{t: m.T, server: server.URL, dir: m.TempDir()}, store
}

// post sends a request with a body to the first server.
func (m *moveTest) post(method, path, media, body string, headers ...string) {
	m.Helper()
	r, err := http.NewRequestWithContext(m.Context(), method, m.from.server+path, strings.NewReader(body))
	fatal.If(m, err)
	r.Header.Set("Content-Type", media)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	fatal.If(m, err)
	defer resp.Body.Close()
	if reply, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		m.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, reply)
	}
}

// move exports from the first server and imports into the second.
func (m *moveTest) move(filter ...string) {
	m.Helper()
	file := filepath.Join(m.from.dir, "tasks.ndjson")
	if out, errs, code := m.from.run("", append([]string{"export", file}, filter...)...); code != exit.OK {
		m.Fatalf("the export ended with %d: %s%s", code, out, errs)
	}
	if out, errs, code := m.to.run("", "import", file); code != exit.OK {
		m.Fatalf("the import ended with %d: %s%s", code, out, errs)
	}
}

func (m *moveTest) load(s *memstore.Store, key task.Key) *task.Task {
	m.Helper()
	t, err := s.Get(m.Context(), key)
	if err != nil {
		m.Fatalf("%s: %v", key.Name, err)
	}
	return t
}

// sentAs returns the body and the content type that a receiver gets.
func sentAs(t *task.Task) string {
	media := ""
	for name, value := range t.Request.Headers {
		if strings.EqualFold(name, "Content-Type") {
			media = value
		}
	}
	kinds := map[task.BodyKind]string{task.TextBody: "text/plain", task.JSONBody: "application/json", task.BinaryBody: "application/octet-stream"}
	return cmp.Or(media, kinds[t.Request.BodyKind]) + "\n" + string(t.Request.Body)
}

func TestExportAndImportKeepEveryByteOfABody(t *testing.T) {
	m := newMoveTest(t)
	bodies := map[string]string{
		"spaced":  `{ "order" : 42,  "total": 1.50e1, "note": "a\u00e9 <b>" , "tags": [ 1, 2 ] }`,
		"lines":   "{\n\t\"order\": 42,\r\n\t\"b\": \"\u2028\"\n}",
		"string":  `" text\n"`,
		"number":  `1.0`,
		"typical": `{"a":1}`,
	}
	for name, body := range bodies {
		m.post("POST", "/v1/tasks", "application/json", `{"name": "`+name+`", "delay": "1h", "http": {"url": "http://example.com/", "body": `+body+`}}`)
	}
	published := map[string]string{"newline": "{\"a\": 1}\n", "quoted": `"text"`, "null": "null", "latin": "\"\xe9\""}
	for name, body := range published {
		m.post("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "application/json", body, "Foliot-Delay", "1h", "Foliot-Name", name)
		bodies[name] = body
	}
	scheduled := "{ \"a\": [\n] }"
	m.post("PUT", "/v1/schedules/nightly", "application/json", `{"every": "1h", "task": {"http": {"url": "http://example.com/", "body": `+scheduled+`}}}`)
	m.move()
	for name, body := range bodies {
		want, got := sentAs(m.load(m.source, tasktest.Key(name))), sentAs(m.load(m.target, tasktest.Key(name)))
		if got != want || name != "string" && !strings.HasSuffix(got, "\n"+body) {
			t.Errorf("%s: the receiver got %q, and gets %q", name, want, got)
		}
	}
	key := task.ScheduleKey(task.DefaultNamespace, "nightly")
	if want, got := sentAs(m.load(m.source, key)), sentAs(m.load(m.target, key)); got != want || !strings.HasSuffix(got, "\n"+scheduled) {
		t.Errorf("the schedule's tasks sent %q, and send %q", want, got)
	}
}

func TestExportAndImportKeepTheArgumentsOfAKind(t *testing.T) {
	m := newMoveTest(t)
	for name, args := range map[string]string{"spaced": `{ "a": 1.50e1 }`, "text": `"text"`, "lines": "[1,\n 2]"} {
		m.post("POST", "/v1/tasks", "application/json", `{"name": "`+name+`", "delay": "1h", "work": {"kind": "close-order", "args": `+args+`}}`)
	}
	m.post("PUT", "/v1/schedules/nightly", "application/json", `{"every": "1h", "task": {"work": {"kind": "report", "args": { "full": true }}}}`)
	m.move()
	for key, want := range map[task.Key]string{
		tasktest.Key("spaced"): `{ "a": 1.50e1 }`, tasktest.Key("text"): `"text"`, tasktest.Key("lines"): `[1,2]`, task.ScheduleKey(task.DefaultNamespace, "nightly"): `{ "full": true }`,
	} {
		before, after := m.load(m.source, key).Request, m.load(m.target, key).Request
		if after.Kind != before.Kind || after.URL != "" || string(after.Body) != want {
			t.Errorf("%s: %+v, before %+v", key.Name, after, before)
		}
	}
}

func TestExportAndImportKeepTheTimesAndTheSpanOfATask(t *testing.T) {
	m := newMoveTest(t)
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	m.post("POST", "/v1/tasks", "application/json", `{"name": "a", "delay": "0s", "expire_after": "3h", "retry": {"min_backoff": "1h"}, "http": {"url": "http://example.com/"}}`, "Traceparent", span)
	m.post("POST", "/v1/tasks", "application/json", `{"name": "dead", "delay": "0s", "expire_after": "1ms", "http": {"url": "http://example.com/"}}`)
	for name, verdict := range map[string]task.Verdict{"a": task.Failure, "dead": task.Refusal} {
		made := m.load(m.source, tasktest.Key(name))
		replies, err := m.source.Transit(t.Context(), made.Due, store.Claims([]task.Claim{tasktest.Claim(made, "token", made.Due+1000)}))
		if err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
		settled, err := m.source.Transit(t.Context(), made.Due, store.Settlements([]task.Settlement{{Key: made.Key(), Token: "token", Outcome: task.Outcome{Verdict: verdict, Reason: "gone"}}}))
		if err != nil || settled[0].Err != nil {
			t.Fatal(err, settled)
		}
	}
	m.move()
	before, after := m.load(m.source, tasktest.Key("a")), m.load(m.target, tasktest.Key("a"))
	if before.Due <= before.OriginalDue {
		t.Fatal("it waits for no retry")
	}
	if after.OriginalDue != before.OriginalDue || after.Due != before.Due || after.ExpiresAt() != before.ExpiresAt() || after.Trace != span {
		t.Errorf("due %v, next attempt %v, expires %v, span %q; before: %v, %v, %v", after.OriginalDue.Time(), after.Due.Time(), after.ExpiresAt().Time(), after.Trace,
			before.OriginalDue.Time(), before.Due.Time(), before.ExpiresAt().Time())
	}
	m.move("--state", "dead")
	// It starts again, as after a retry, so it does not expire before its first
	// attempt.
	if after := m.load(m.target, tasktest.Key("dead")); after.State != task.Scheduled || time.Since(after.OriginalDue.Time()) > time.Minute {
		t.Errorf("the dead one: %+v", after)
	}
}

func TestExportAndImportKeepThePhaseAndTheCountOfASchedule(t *testing.T) {
	m := newMoveTest(t)
	anchor := task.FloorMillis(time.Now()) - 100_000
	m.post("PUT", "/v1/schedules/counted", "application/json", `{"every": "7m", "anchor": "`+anchor.Time().Format(time.RFC3339Nano)+`", "max_runs": 5, "runs": 3, "paused": true, "task": {"http": {"url": "http://example.com/"}}}`)
	m.post("PUT", "/v1/schedules/nightly", "application/json", `{"cron": "0 21 * * *", "task": {"http": {"url": "http://example.com/"}}}`)
	m.move()
	for _, name := range []string{"counted", "nightly"} {
		key := task.ScheduleKey(task.DefaultNamespace, name)
		before, after := m.load(m.source, key).Recur, m.load(m.target, key).Recur
		if after.Next != before.Next || after.Runs != before.Runs || after.MaxRuns != before.MaxRuns || after.Paused != before.Paused {
			t.Errorf("%s: %+v, before %+v", name, after, before)
		}
	}
	if r := m.load(m.target, task.ScheduleKey(task.DefaultNamespace, "counted")).Recur; r.Anchor != anchor || r.Runs != 3 {
		t.Errorf("counts from %d, %d runs", r.Anchor-anchor, r.Runs)
	}
}
