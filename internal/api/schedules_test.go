package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const (
	hourly  = `{"cron": "0 * * * *", "task": {"http": {"url": "http://example.com/", "body": {"n":  1}}, "labels": {"k": "v"}}}`
	nightly = `{"cron": "0 21 * * *", "timezone": "Europe/Berlin", "task": {"http": {"url": "http://example.com/"}}}`
)

// schedule decodes a reply with a schedule.
func (r reply) schedule(status int) (s wire.Schedule) {
	r.Helper()
	r.want(status, &s)
	return s
}

// fire fires a schedule at an instant, and returns the created tasks.
func (s *service) fire(name string, now time.Time) *task.Task {
	s.Helper()
	replies, err := s.store.Transit(s.Context(), task.FloorMillis(now), store.Fires([]task.Fire{{Key: task.ScheduleKey(task.DefaultNamespace, name)}}))
	if err != nil || replies[0].Err != nil {
		s.Fatal(err, replies)
	}
	return replies[0].Spawned
}

// rule returns a schedule with optional fields.
func rule(more string) string {
	return `{` + more + `, "task": {"http": {"url": "http://example.com/"}}}`
}

func TestAScheduleIsShownWithItsDefaults(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	r := s.do("PUT", "/v1/schedules/nightly", nightly)
	got := r.schedule(201)
	if r.header.Get("Location") != "/v1/schedules/nightly" || r.header.Get("ETag") != `"`+got.ID+`.1"` || got.ID == "" {
		t.Errorf("headers %v, id %s", r.header, got.ID)
	}
	attempts, no := 0, false
	want := wire.Schedule{
		ScheduleInput: wire.ScheduleInput{
			ScheduleRule: wire.ScheduleRule{
				Cron: "0 21 * * *", TimeZone: "Europe/Berlin", DSTGap: "next", DSTOverlap: "first",
				Missed: "fire_once", CatchupWindow: "24h", CatchupLimit: 100, Overlap: "allow",
			},
			Paused: &no,
			Task: wire.ScheduledTask{
				Queue: "default", HTTP: wire.HTTPInput{URL: "http://example.com/", Method: "POST"}, Timeout: "15s", Priority: "normal",
				Retry: &wire.Retry{MaxAttempts: &attempts, MinBackoff: "1s", MaxBackoff: "1h", MaxAge: "24h"},
			},
		},
		Name: "nightly", ID: got.ID, State: "active", Words: "at 21:00 every day", NextAt: "2040-02-29T20:00:00.000Z",
		Version: 1, CreatedAt: wire.FormatTime(elsewhen), Durability: "memory",
	}
	want.Runs = new(int64)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each field of a schedule is shown as it was sent, and a reply can be sent
// again.
func TestAScheduleIsShownAsItWasPut(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	const full = `"start":"2040-03-01T00:00:00.000Z","end":"2041-01-01T00:00:00.000Z","max_runs":7,"jitter":"30s","missed":"fire_all","catchup_window":"1h","catchup_limit":9,` +
		`"overlap":"buffer_one","paused":true,"task":{"queue":"mail","http":{"url":"http://example.com/","method":"PUT","headers":{"x-a":"1"},"body":{"n":1}},"timeout":"5s","expire_after":"1h",` +
		`"priority":"high","labels":{"k":"v"},"retry":{"max_attempts":3,"min_backoff":"2s","max_backoff":"1m","max_age":"1h"},"on_dead":"http://example.com/dead"}`
	for name, when := range map[string]string{
		"a": `"cron":"30 2 * * *","timezone":"America/New_York","dst_gap":"skip","dst_overlap":"both"`, "b": `"every":"1m30s"`,
	} {
		said := `{` + when + `,` + full + `}`
		s.do("PUT", "/v1/schedules/"+name, said).want(201, nil)
		r := s.do("GET", "/v1/schedules/"+name, "").want(200, nil)
		if got := string(r.body); !strings.HasPrefix(got, said[:len(said)-1]) {
			t.Errorf("said  %s\nshown %s", said, got)
		}
	}
	for i, c := range []struct{ said, shown string }{
		{`"cron": "@every 90s"`, `"every":"1m30s"`},
		{`"cron": " @daily"`, `"cron":"@daily","timezone":"UTC"`},
		{`"cron": "0  9 * *  mon-fri"`, `"cron":"0 9 * * mon-fri"`},
	} {
		if got := string(s.do("PUT", fmt.Sprint("/v1/schedules/c", i), rule(c.said)).want(201, nil).body); !strings.HasPrefix(got, "{"+c.shown) {
			t.Errorf("%s is shown as %s", c.said, got)
		}
	}
}

func TestAChangedScheduleGoesOn(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	const path = "/v1/schedules/hourly"
	made := s.do("PUT", path, hourly, "If-None-Match: *").schedule(201)
	tag := `"` + made.ID + `.1"`
	if at := elsewhen.Add(time.Hour); s.fire("hourly", at) == nil {
		t.Fatal("it has not fired")
	} else {
		set(at)
	}
	r := s.do("GET", path, "", "If-None-Match: "+tag)
	if got := r.schedule(200); r.header.Get("ETag") != tag || *got.Runs != 1 || got.LastAt != "2040-02-29T13:00:00.000Z" || got.NextAt != "2040-02-29T14:00:00.000Z" {
		t.Errorf("its own steps change the tag: %s, %s", r.header.Get("ETag"), r.body)
	}
	if got := s.do("GET", path, "").schedule(200); string(got.Task.HTTP.Body) != `{"n":  1}` || got.BodySize != 9 {
		t.Errorf("the body: %+v", got)
	}
	s.do("PUT", path, hourly, "If-None-Match: *").problem(412, "precondition_failed", "")
	s.do("PUT", "/v1/schedules/other", hourly, "If-Match: *").problem(412, "precondition_failed", "")
	r = s.do("PUT", path, strings.Replace(hourly, `"0 * * * *"`, `"30 * * * *", "name": "hourly"`, 1), "If-Match: "+tag)
	changed := r.schedule(200)
	if changed.ID != made.ID || changed.Version != 2 || *changed.Runs != 1 || changed.CreatedAt != made.CreatedAt || changed.NextAt != "2040-02-29T13:30:00.000Z" || r.header.Get("Location") != "" {
		t.Errorf("changed: %s", r.body)
	}
	if changed.Task.HTTP.Body != nil || changed.BodySize != 9 || changed.Durability != "memory" {
		t.Errorf("the reply to a change must have the size of the body, not the body: %s", r.body)
	}
	for method, path := range map[string]string{"PUT": path, "DELETE": path, "POST": path + "/pause"} {
		body := map[string]string{"PUT": hourly}[method]
		if p := s.do(method, path, body, "If-Match: "+tag).problem(412, "precondition_failed", ""); !strings.Contains(p.Detail, "schedule") {
			t.Errorf("%s: %s", method, p.Detail)
		}
	}
}

func TestAPauseLastsUntilItIsTakenBack(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	const path = "/v1/schedules/hourly"
	s.do("PUT", path, hourly).want(201, nil)
	for range 2 { // a repeat changes nothing
		r := s.do("POST", path+"/pause", "")
		if got := r.schedule(200); got.State != "paused" || !*got.Paused || got.PausedAt != wire.FormatTime(elsewhen) || got.NextAt != "" || got.Version != 2 {
			t.Errorf("paused: %s", r.body)
		}
	}
	if got := s.do("PUT", path, hourly).schedule(200); got.State != "paused" {
		t.Errorf("changed: %+v", got)
	}
	set(elsewhen.Add(90 * time.Minute))
	for range 2 {
		r := s.do("POST", path+"/resume", "{}")
		if got := r.schedule(200); got.State != "active" || *got.Paused || got.PausedAt != "" || got.NextAt != "2040-02-29T14:00:00.000Z" || got.Version != 4 || got.LastSkipped != nil {
			t.Errorf("resumed: %s", r.body)
		}
	}
	if got := s.do("PUT", path, strings.Replace(hourly, "{", `{"paused": true, `, 1)).schedule(200); got.State != "paused" {
		t.Errorf("put paused: %+v", got)
	}
	if got := s.do("PUT", path, strings.Replace(hourly, "{", `{"paused": false, `, 1)).schedule(200); got.State != "active" {
		t.Errorf("put resumed: %+v", got)
	}
	s.do("POST", path+"/pause", `{"for": "1h"}`).problem(400, "unexpected_body", "")
}

func TestADeletedScheduleIsGone(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	const path = "/v1/schedules/hourly"
	made := s.do("PUT", path, hourly).schedule(201)
	occurrence := s.fire("hourly", elsewhen.Add(time.Hour))
	set(elsewhen.Add(time.Hour))
	if got := s.do("DELETE", path, "").schedule(200); got.ID != made.ID || got.Version != 2 {
		t.Errorf("%+v", got)
	}
	for _, route := range []string{"GET ", "DELETE ", "POST /pause", "POST /resume", "POST /trigger", "GET /preview"} {
		method, below, _ := strings.Cut(route, " ")
		if p := s.do(method, path+below, "").problem(404, "not_found", ""); !strings.Contains(p.Detail, "schedule") {
			t.Errorf("%s: %s", route, p.Detail)
		}
	}
	var list api.ScheduleList
	if s.do("GET", "/v1/schedules", "").want(200, &list); len(list.Schedules) != 0 {
		t.Errorf("listed: %+v", list)
	}
	if got := s.do("GET", "/v1/tasks/"+occurrence.Name, "").task(200); got.State != "scheduled" {
		t.Errorf("its task: %+v", got)
	}
	if got := s.do("PUT", path, hourly, "If-None-Match: *").schedule(201); got.ID == made.ID || got.Version != 1 || *got.Runs != 0 {
		t.Errorf("made again: %+v", got)
	}
}

func TestBadSchedulesAreRefusedByNameAndStoreNothing(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	field := func(more string) string { return rule(`"cron": "0 * * * *", ` + more) }
	inTask := func(more string) string {
		return `{"every": "1m", "task": {"http": {"url": "http://example.com/"}, ` + more + `}}`
	}
	for body, want := range map[string]string{
		"": "415 unsupported_media_type Content-Type", "[]": "400 wrong_type ", `{}`: "400 required task", `{"task": {}}`: "400 required task.http",
		rule(`"paused": false`): "400 required cron", rule(`"cron": "0 * * * *", "every": "1m"`): "400 conflict every", rule(`"every": "1m", "cron": "@every 1m"`): "400 conflict cron",
		rule(`"cron": "@every 1m", "every": "1m"`): "400 conflict every", rule(`"every": "1m", "timezone": "UTC"`): "400 conflict timezone",
		rule(`"every": "1m", "dst_gap": "skip"`): "400 conflict every", rule(`"dst_overlap": "both", "every": "1m"`): "400 conflict every",
		rule(`"cron": "61 * * * *"`): "400 bad_cron cron", rule(`"cron": "0 0 30 2 *"`): "400 bad_cron cron", rule(`"cron": ""`): "400 bad_cron cron", rule(`"cron": 5`): "400 wrong_type cron",
		rule(`"every": "999ms"`): "400 out_of_range every", rule(`"every": "0s"`): "400 out_of_range every", rule(`"every": "-1m"`): "400 out_of_range every",
		field(`"timezone": "Mars/Olympus"`): "400 bad_timezone timezone", field(`"timezone": ""`): "400 bad_timezone timezone", field(`"timezone": "Local"`): "400 bad_timezone timezone",
		field(`"dst_gap": "later"`): "400 bad_policy dst_gap", field(`"dst_overlap": "none"`): "400 bad_policy dst_overlap",
		field(`"missed": "fire"`): "400 bad_policy missed", field(`"overlap": ""`): "400 bad_policy overlap", field(`"overlap": true`): "400 wrong_type overlap",
		field(`"jitter": "25h"`): "400 out_of_range jitter", field(`"max_runs": -1`): "400 out_of_range max_runs", field(`"max_runs": 1.5`): "400 wrong_type max_runs",
		field(`"start": "1960-01-01T00:00:00Z"`): "400 out_of_range start", field(`"start": "tomorrow"`): "400 bad_time start", field(`"end": "2001-01-01T00:00:00Z"`): "400 never_fires end",
		field(`"paused": "no"`): "400 wrong_type paused", field(`"paused": null`): "400 null_value paused", field(`"paused": tru`): "400 bad_json paused",
		field(`"name": "other"`): "400 name_mismatch name", field(`"state": "active"`): "400 unknown_field state", field(`"words": ""`): "400 unknown_field words",
		field(`"queue": "q"`): "400 unknown_field queue", field(`"http": {}`): "400 unknown_field http", field(`"at": "2041-01-01T00:00:00Z"`): "400 unknown_field at",
		field(`"colour": "red"`): "400 unknown_field colour", field(`"cron": "0 * * * *"`): "400 duplicate_key cron",
		inTask(`"name": "a"`): "400 unknown_field task.name", inTask(`"delay": "1h"`): "400 unknown_field task.delay", inTask(`"at": "2041-01-01T00:00:00Z"`): "400 unknown_field task.at",
		inTask(`"colour": "red"`): "400 unknown_field task.colour", inTask(`"id": "x"`): "400 unknown_field task.id", inTask(`"queue": "@"`): "400 bad_name task.queue",
		`{"every": "1m", "task": {"http": {"url": "x"}}}`:                                                        "400 bad_scheme task.http.url",
		`{"every": "1m", "task": {"http": {"url": "http://example.com/", "headers": {"Foliot-Schedule": "x"}}}}`: "400 forbidden_header task.http.headers.Foliot-Schedule",
	} {
		var p wire.Problem
		r := s.do("PUT", "/v1/schedules/a", body)
		r.want(r.status, &p)
		if got := fmt.Sprint(r.status, " ", p.Code, " ", p.Field); got != want || p.Detail == "" {
			t.Errorf("%s: %s (%s), want %s", body, got, p.Detail, want)
		}
	}
	for _, name := range []string{"a@b", "@a", "@", "-a", "a%20b", "%40a", strings.Repeat("a", 201)} {
		for _, route := range []string{"PUT ", "GET ", "DELETE ", "POST /pause", "POST /resume", "POST /trigger", "POST /backfill", "GET /preview"} {
			method, below, _ := strings.Cut(route, " ")
			s.do(method, "/v1/schedules/"+name+below, map[string]string{"PUT": hourly}[method]).problem(400, "bad_name", "name")
		}
	}
	s.do("PUT", "/v1/schedules/"+strings.Repeat("a", 200), hourly).want(201, nil)
	if n := s.schedules(); n != 1 || len(s.all()) != 0 {
		t.Errorf("%d schedules and %d tasks are stored", n, len(s.all()))
	}
}

// schedules returns the number of schedules in the store.
func (s *service) schedules() int {
	s.Helper()
	listing, err := s.store.List(s.Context(), task.Filter{Namespace: task.DefaultNamespace, Queue: task.ScheduleQueue}, task.Page{Limit: 10_000})
	fatal.If(s, err)
	return len(listing.Tasks)
}

func TestTheAuditLogHasTheActorOfAChangedSchedule(t *testing.T) {
	s := serve(t)
	const path = "/v1/schedules/hourly"
	for _, target := range []string{"PUT ", "PUT ", "POST /pause", "POST /pause", "POST /resume", "POST /trigger", "DELETE "} {
		method, below, _ := strings.Cut(target, " ")
		if r := s.do(method, path+below, map[string]string{"PUT": hourly}[method], "Foliot-Client: page"); r.status >= 300 {
			t.Fatalf("%s: %s", target, r.body)
		}
	}
	log := decoded[api.AuditList](s.do("GET", "/v1/audit", ""), 200)
	var got []string
	for _, e := range slices.Backward(log.Entries) {
		name, _, _ := strings.Cut(e.Target, "@")
		got = append(got, fmt.Sprint(e.Action, " ", name, " ", e.Version))
	}
	if got, want := strings.Join(got, ", "), "schedule.put hourly 1, schedule.put hourly 2, schedule.pause hourly 3, schedule.resume hourly 4, schedule.delete hourly 5"; got != want {
		t.Errorf("the log has %s", got)
	}
	if s.do("GET", "/v1/audit?target=hourly&action=schedule.pause", "").want(200, &log); len(log.Entries) != 1 || log.Entries[0].By != "anonymous" {
		t.Errorf("%+v", log)
	}
}

func TestANamespaceWithSchedulesIsNotRemoved(t *testing.T) {
	s := serve(t)
	s.namespace("acme")
	const acme = "Foliot-Namespace: acme"
	s.do("PUT", "/v1/schedules/hourly", hourly, acme).want(201, nil)
	if p := s.do("DELETE", "/v1/namespaces/acme", "").problem(409, "busy", ""); !strings.Contains(p.Detail, "1 schedules") {
		t.Errorf("detail %s", p.Detail)
	}
	s.do("DELETE", "/v1/schedules/hourly", "", acme).want(200, nil)
	s.do("DELETE", "/v1/namespaces/acme", "").want(200, nil)
}

// A schedule counts for the quotas like a waiting task.
func TestSchedulesCountInTheQuotas(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 1, "create_rate": 0.001}`).want(201, nil)
	const acme = "Foliot-Namespace: acme"
	s.do("PUT", "/v1/schedules/a", hourly, acme).want(201, nil)
	s.do("PUT", "/v1/schedules/b", hourly, acme).problem(429, "rate_exceeded", "create_rate")
	s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 1}`).want(200, nil)
	s.do("PUT", "/v1/schedules/b", hourly, acme).problem(403, "quota_exceeded", "max_pending")
	s.do("PUT", "/v1/schedules/a", hourly, acme).want(200, nil)
	var full wire.Namespace
	if s.do("GET", "/v1/namespaces/acme", "").want(200, &full); full.Schedules != 1 || full.Counts.Scheduled != 0 {
		t.Errorf("the content that fills the quota is not shown: %+v", full)
	}
}

// An accepted schedule is shown, and the reply is accepted again with the same
// rule.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{hourly, nightly, rule(`"every": "90s", "missed": "skip", "overlap": "buffer_one", "jitter": "1s"`), rule(`"cron": "@every 90s"`), `{"task": 5}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := serve(t, func(c *api.Config) { c.Now = func() time.Time { return elsewhen } })
		r := s.do("PUT", "/v1/schedules/a", body, "Content-Type: application/json")
		if r.status != 201 {
			if r.status >= 500 || !json.Valid(r.body) || s.schedules() != 0 {
				t.Fatalf("%q: %d %s", body, r.status, r.body)
			}
			return
		}
		shown := s.do("GET", "/v1/schedules/a", "").want(200, nil).body
		var first, second map[string]json.RawMessage
		fatal.If(t, json.Unmarshal(shown, &first))
		said := maps.Clone(first)
		for _, field := range strings.Fields("id state words next_at last_at paused_at runs waiting_at last_skipped problem held body_size version created_at changed_at changed_action") {
			delete(said, field)
		}
		var again bytes.Buffer
		enc := json.NewEncoder(&again)
		enc.SetEscapeHTML(false)
		fatal.If(t, enc.Encode(said))
		if got := s.do("PUT", "/v1/schedules/a", again.String()); got.status != 200 {
			t.Fatalf("%q is shown as %s, which is refused: %s", body, &again, got.body)
		}
		fatal.If(t, json.Unmarshal(s.do("GET", "/v1/schedules/a", "").want(200, nil).body, &second))
		for _, shown := range []map[string]json.RawMessage{first, second} {
			delete(shown, "version")
			delete(shown, "changed_at")
			delete(shown, "changed_action")
			delete(shown, "body_size") // the encoder above has removed the white space of the body
		}
		if diff := cmp.Diff(first, second, cmp.Transformer("text", func(m json.RawMessage) string { return compact(t, m) })); diff != "" {
			t.Fatalf("%q: -first +again:\n%s", body, diff)
		}
	})
}

// compact returns JSON without white space.
func compact(t *testing.T, m json.RawMessage) string {
	var buf bytes.Buffer
	fatal.If(t, json.Compact(&buf, m))
	return buf.String()
}
