package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/wire"
)

// held reports whether an instant of a schedule creates no task.
func (s *service) held(name string, at time.Time) bool {
	s.Helper()
	return s.fire(name, at) == nil
}

func TestATriggeredTaskIsDueNowInEveryStateOfTheSchedule(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	const path = "/v1/schedules/hourly"
	s.do("PUT", path, strings.Replace(hourly, "{", `{"overlap": "skip", "max_runs": 2, `, 1)).want(201, nil)
	first := s.fire("hourly", elsewhen.Add(time.Hour))
	set(elsewhen.Add(90 * time.Minute))
	s.do("POST", path+"/pause", "").want(200, nil)
	r := s.do("POST", path+"/trigger", "", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	got := r.task(201)
	if !regexp.MustCompile(`^hourly@` + fmt.Sprint(elsewhen.Add(90*time.Minute).UnixMilli()) + `\.t[0-9a-f]{16}$`).MatchString(got.Name) {
		t.Errorf("it is called %s", got.Name)
	}
	if r.header.Get("Location") != "/v1/tasks/"+got.Name || got.State != "scheduled" || got.DueAt != "2040-02-29T13:30:00.000Z" || got.Schedule != "hourly" || got.Instant != "" || got.Labels["k"] != "v" || got.Traceparent == "" {
		t.Errorf("%s", r.body)
	}
	kept := s.record(got.Name)
	if string(kept.Request.Body) != `{"n":  1}` || kept.Request.Destination != "example.com:80" || kept.Lane() != first.Lane() || kept.ID == first.ID {
		t.Errorf("kept %+v", kept)
	}
	if shown := s.do("GET", path, "").schedule(200); *shown.Runs != 1 || shown.State != "paused" {
		t.Errorf("the schedule: %+v", shown)
	}
	s.do("DELETE", "/v1/tasks/"+first.Name, "").want(200, nil)
	s.do("POST", path+"/resume", "").want(200, nil)
	if !s.held("hourly", elsewhen.Add(2*time.Hour)) {
		t.Error("a triggered task is unfinished, but the next instant creates a task")
	}
	s.do("DELETE", "/v1/tasks/"+got.Name, "").want(200, nil)
	if s.held("hourly", elsewhen.Add(3*time.Hour)) {
		t.Error("nothing is unfinished, and the instant makes no task")
	}
	if shown := s.do("GET", path, "").schedule(200); shown.State != "ended" || shown.NextAt != "" || shown.LastSkipped.Why != "overlap" {
		t.Errorf("the schedule: %+v", shown)
	}
	s.do("POST", path+"/trigger", "").want(201, nil)
	s.do("POST", path+"/trigger", `{"n": 1}`).problem(400, "unexpected_body", "")
}

func TestARepeatedTriggerFindsItsTask(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	const path, key = "/v1/schedules/hourly", "Idempotency-Key: order-42"
	made := s.do("PUT", path, hourly).schedule(201)
	s.do("PUT", "/v1/schedules/other", hourly).want(201, nil)
	first := s.do("POST", path+"/trigger", "", key).task(201)
	set(elsewhen.Add(time.Minute))
	s.do("PUT", path, nightly).want(200, nil)
	if again := s.do("POST", path+"/trigger", "", key).task(201); again.ID != first.ID || again.Name != first.Name || again.DueAt != first.DueAt {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if !strings.HasPrefix(first.Name, fmt.Sprintf("hourly@%d.t", elsewhen.UnixMilli())) || first.Instant != "" {
		t.Errorf("%+v", first)
	}
	if other := s.do("POST", path+"/trigger", "", key+"3").task(201); other.Name == first.Name {
		t.Errorf("another key: %+v", other)
	}
	s.do("POST", "/v1/schedules/other/trigger", "", key).problem(422, "idempotency_key_reused", "")
	s.do("POST", "/v1/tasks", hour, key).problem(422, "idempotency_key_reused", "")
	s.do("POST", path+"/trigger", "", "Idempotency-Key: ").problem(400, "bad_idempotency_key", "Idempotency-Key")
	if n := len(s.all()); n != 2 {
		t.Errorf("%d tasks", n)
	}
	// For a new schedule with the same name, a repeat still means the old one.
	s.do("DELETE", path, "").want(200, nil)
	if again := s.do("PUT", path, hourly).schedule(201); again.ID == made.ID {
		t.Fatal("it is the same")
	}
	s.do("POST", path+"/trigger", "", key).problem(422, "idempotency_key_reused", "")
}

// A trigger or backfill with the version of an old schedule creates no task of
// a new one.
func TestATriggerOrBackfillRespectsIfMatch(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	const path, span = "/v1/schedules/hourly", `{"from": "2040-02-29T01:00:00Z", "until": "2040-02-29T02:00:00Z"}`
	made := s.do("PUT", path, hourly).schedule(201)
	old, now := `If-Match: "`+made.ID+`.1"`, `If-Match: "`+made.ID+`.2"`
	const key = "Idempotency-Key: order-42"
	first := s.do("POST", path+"/trigger", "", old, key).task(201)
	s.do("PUT", path, nightly).want(200, nil)
	for target, body := range map[string]string{"/trigger": "", "/backfill": span} {
		for _, stale := range []string{old, `If-Match: W/"` + made.ID + `.2"`, "If-None-Match: *"} {
			if p := s.do("POST", path+target, body, stale).problem(412, "precondition_failed", ""); !strings.Contains(p.Detail, "schedule") {
				t.Errorf("%s: %s", target, p.Detail)
			}
		}
		s.do("POST", path+target, body, "If-Match: 5").problem(400, "bad_precondition", "If-Match")
		s.do("POST", "/v1/schedules/none"+target, body, old).problem(404, "not_found", "")
	}
	s.do("POST", path+"/trigger", "", old, key+"3").problem(412, "precondition_failed", "")
	if n := len(s.all()); n != 1 {
		t.Errorf("%d tasks", n)
	}
	if again := s.do("POST", path+"/trigger", "", old, key).task(201); again.ID != first.ID {
		t.Errorf("a repeat is answered with %+v", again)
	}
	s.do("POST", path+"/trigger", "", now).want(201, nil)
	s.do("POST", path+"/trigger", "", "If-Match: *").want(201, nil)
	s.do("POST", path+"/backfill", span, old+`, "`+made.ID+`.2"`).want(200, nil)
}

func TestABackfillMakesEachInstantOnce(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	const path = "/v1/schedules/hourly"
	s.do("PUT", path, strings.Replace(hourly, "{", `{"overlap": "buffer_one", "paused": true, `, 1)).want(201, nil)
	backfill := func(from, until string) (done wire.BackfillReply) {
		t.Helper()
		s.do("POST", path+"/backfill", `{"from": "`+from+`", "until": "`+until+`"}`).want(200, &done)
		return done
	}
	const from, until = "2040-02-28T21:00:00.000Z", "2040-02-29T02:59:59Z"
	if got := backfill(from, until); got != (wire.BackfillReply{Created: 6, Instants: 6, Durability: "memory"}) {
		t.Errorf("%+v", got)
	}
	for i, r := range s.all() {
		at := time.Date(2040, 2, 28, 21+i, 0, 0, 0, time.UTC)
		mark, ok := strings.CutPrefix(r.Name, fmt.Sprintf("hourly@%d.b", at.UnixMilli()))
		if !ok || len(mark) != 8 || r.Due != task.CeilMillis(elsewhen) || string(r.Request.Body) != `{"n":  1}` || !r.NotifySchedule || r.Request.Destination == "" {
			t.Errorf("%+v", r)
		}
		if got := s.do("GET", "/v1/tasks/"+r.Name, "").task(200); got.Schedule != "hourly" || got.Instant != wire.FormatTime(at) {
			t.Errorf("%+v", got)
		}
	}
	one := s.all()[0]
	s.do("DELETE", "/v1/tasks/"+one.Name, "").want(200, nil)
	for _, same := range []string{"2040-02-29T02:59:59.000000Z", "2040-02-29T03:59:59+01:00"} {
		if got := backfill("2040-02-28T22:00:00+01:00", same); got.Created != 0 || got.Existing != 6 || got.Instants != 6 {
			t.Errorf("again: %+v", got)
		}
	}
	// Fractions of a millisecond are rounded towards the inside, so this is the
	// same backfill.
	if got := backfill("2040-02-28T20:59:59.9995Z", "2040-02-29T02:59:59.0005Z"); got.Existing != 6 {
		t.Errorf("%+v", got)
	}
	for _, other := range []struct {
		from, until string
		created     int
	}{{"2040-02-29T02:00:00Z", "2040-02-29T03:00:00Z", 2}, {from, "2040-02-28T22:00:00Z", 2}, {"2040-02-29T02:00:00Z", until, 1}} {
		if got := backfill(other.from, other.until); got.Created != other.created || got.Existing != 0 {
			t.Errorf("another one, %+v: %+v", other, got)
		}
	}
	if got := backfill("2040-02-29T02:00:00.001Z", "2040-02-29T02:59:59.999Z"); got.Instants != 0 || got.Created != 0 {
		t.Errorf("between two instants: %+v", got)
	}
	// The clock of a client that sends the present time may be ahead. Future
	// instants are left out.
	set(elsewhen.Add(time.Hour - time.Second))
	if got := backfill("2040-02-29T12:00:00Z", "2040-02-29T13:00:00Z"); got.Created != 1 || got.Instants != 1 {
		t.Errorf("by a clock that is ahead: %+v", got)
	}
	if shown := s.do("GET", path, "").schedule(200); *shown.Runs != 0 || shown.State != "paused" || shown.Version != 1 {
		t.Errorf("the schedule: %+v", shown)
	}
}

func TestABackfillThatIsTooLargeHasALatestEnd(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	s.do("PUT", "/v1/schedules/m", rule(`"cron": "* * * * *", "start": "2040-02-28T00:00:00Z"`)).want(201, nil)
	const path = "/v1/schedules/m/backfill"
	p := s.do("POST", path, `{"from": "2040-02-01T00:00:00Z", "until": "2040-02-28T16:40:00Z"}`).problem(422, "too_many_instants", "until")
	const last = "2040-02-28T16:39:00.000Z"
	if !strings.Contains(p.Detail, last) || p.Until != last || len(s.all()) != 0 {
		t.Errorf("detail %s; %d tasks", p.Detail, len(s.all()))
	}
	var done wire.BackfillReply
	if s.do("POST", path, `{"from": "2040-02-01T00:00:00Z", "until": "`+last+`"}`).want(200, &done); done.Created != 1000 {
		t.Errorf("%+v", done)
	}
}

// Many clients send the epoch for "all". It must not count as absent.
func TestInstantsAreCountedFromTheEpochOn(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	s.do("PUT", "/v1/schedules/m", rule(`"cron": "* * * * *"`)).want(201, nil)
	s.do("POST", "/v1/schedules/m/backfill", `{"from": "1970-01-01T00:00:00Z", "until": "2040-02-29T12:00:00Z"}`).problem(422, "too_many_instants", "until")
	var p wire.Preview
	for _, from := range []string{"1970-01-01T00:00:00Z", "1969-12-31T00:00:00Z"} {
		if s.do("GET", "/v1/schedules/m/preview?limit=1&from="+from, "").want(200, &p); len(p.Instants) != 1 || p.Instants[0].At != "1970-01-01T00:01:00.000Z" {
			t.Errorf("from %s: %+v", from, p.Instants)
		}
	}
}

func TestBadBackfillsAreRefused(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	s.do("PUT", "/v1/schedules/a", hourly).want(201, nil)
	for body, want := range map[string]string{
		"": "415 unsupported_media_type Content-Type", `{}`: "400 required from", `{"from": "2040-01-01T00:00:00Z"}`: "400 required until", `{"until": "2040-01-01T00:00:00Z"}`: "400 required from",
		`{"from": "2040-01-02T00:00:00Z", "until": "2040-01-01T00:00:00Z"}`: "400 out_of_range from", `{"from": "1960-01-02T00:00:00Z", "until": "2040-01-01T00:00:00Z"}`: "400 out_of_range from",
		`{"from": "2040-02-29T00:00:00Z", "until": "2040-02-29T12:01:01Z"}`: "400 out_of_range until", `{"from": "today", "until": "2040-01-01T00:00:00Z"}`: "400 bad_time from",
		`{"from": "2040-01-01T00:00:00Z", "until": 5}`: "400 wrong_type until", `{"since": "2040-01-01T00:00:00Z"}`: "400 unknown_field since",
	} {
		var p wire.Problem
		r := s.do("POST", "/v1/schedules/a/backfill", body)
		r.want(r.status, &p)
		if got := fmt.Sprint(r.status, " ", p.Code, " ", p.Field); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	s.do("POST", "/v1/schedules/none/backfill", `{"from": "2040-01-01T00:00:00Z", "until": "2040-01-01T00:00:00Z"}`).problem(404, "not_found", "")
}

// A backfill is accepted whole if one create is allowed: otherwise no repeat
// would ever be accepted. Later requests wait. Items without room are refused,
// and created tasks stay.
func TestABackfillCountsInTheQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		const acme = "Foliot-Namespace: acme"
		s.do("PUT", "/v1/namespaces/acme", `{"create_rate": 1, "create_burst": 2, "max_pending": 15}`).want(201, nil)
		s.do("PUT", "/v1/schedules/a", hourly, acme).want(201, nil)
		body := func(hours int) string {
			until := time.Now().Truncate(time.Hour)
			return fmt.Sprintf(`{"from": %q, "until": %q}`, until.Add(time.Duration(1-hours)*time.Hour).Format(time.RFC3339), until.Format(time.RFC3339))
		}
		var done wire.BackfillReply
		if s.do("POST", "/v1/schedules/a/backfill", body(10), acme).want(200, &done); done.Created != 10 {
			t.Errorf("%+v", done)
		}
		if r := s.do("POST", "/v1/schedules/a/backfill", body(10), acme); !strings.Contains(r.problem(429, "rate_exceeded", "create_rate").Detail, "; created 0 of 10: ") || r.header.Get("Retry-After") != "10" {
			t.Errorf("Retry-After: %s", r.header.Get("Retry-After"))
		}
		s.do("POST", "/v1/schedules/a/trigger", "", acme).problem(429, "rate_exceeded", "create_rate")
		time.Sleep(10 * time.Second)
		s.do("POST", "/v1/schedules/a/trigger", "", acme).want(201, nil)
		time.Sleep(10 * time.Second)
		const rest = "repeat the request later with the same from and until; the repeat creates the rest, and no task twice"
		if p := s.do("POST", "/v1/schedules/a/backfill", body(8), acme).problem(403, "quota_exceeded", "max_pending"); !strings.HasSuffix(p.Detail, "; created 3 of 8: "+rest) {
			t.Error(p.Detail)
		}
		time.Sleep(10 * time.Second)
		if p := s.do("POST", "/v1/schedules/a/backfill", body(8), acme).problem(403, "quota_exceeded", "max_pending"); !strings.HasSuffix(p.Detail, "; created 0 of 8, and 3 existed: "+rest) {
			t.Error(p.Detail)
		}
		var n wire.Namespace
		if s.do("GET", "/v1/namespaces/acme", "").want(200, &n); n.Counts.Scheduled != 14 { // and the schedule
			t.Errorf("%+v", n.Counts)
		}
	})
}

func TestAPreviewShowsWhatTheRuleSays(t *testing.T) {
	s, set := serveAt(t, time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC))
	preview := func(name, query string) (list []string) {
		t.Helper()
		p := decoded[wire.Preview](s.do("GET", "/v1/schedules/"+name+"/preview"+query, ""), 200)
		for _, at := range p.Instants {
			list = append(list, at.At+" "+at.Local)
		}
		return list
	}
	want := func(name, query string, want ...string) {
		t.Helper()
		if got := preview(name, query); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s%s: %s", name, query, strings.Join(got, "\n"))
		}
	}
	s.do("PUT", "/v1/schedules/nightly", strings.Replace(nightly, `"0 21`, `"30 2`, 1)).want(201, nil)
	want("nightly", "?limit=3", "2026-10-25T00:30:00.000Z 2026-10-25T02:30:00+02:00", "2026-10-26T01:30:00.000Z 2026-10-26T02:30:00+01:00", "2026-10-27T01:30:00.000Z 2026-10-27T02:30:00+01:00")
	want("nightly", "?limit=1&from=2026-03-29T00:00:00Z", "2026-03-29T01:00:00.000Z 2026-03-29T03:00:00+02:00") // the gap's end
	want("nightly", "?limit=1&from=2026-10-25T00:30:00Z", "2026-10-25T00:30:00.000Z 2026-10-25T02:30:00+02:00")
	if n := len(preview("nightly", "")); n != 10 {
		t.Errorf("%d by default", n)
	}
	if n := len(preview("nightly", "?limit=1000")); n != 1000 {
		t.Errorf("%d of 1000", n)
	}
	s.do("PUT", "/v1/schedules/often", rule(`"every": "1500ms", "start": "2026-10-24T12:00:00.100Z", "end": "2026-10-24T12:00:04Z", "max_runs": 2`)).want(201, nil)
	all := []string{"2026-10-24T12:00:00.100Z 2026-10-24T12:00:00.1Z", "2026-10-24T12:00:01.600Z 2026-10-24T12:00:01.6Z", "2026-10-24T12:00:03.100Z 2026-10-24T12:00:03.1Z"}
	want("often", "", all[:2]...)
	want("often", "?from=2001-01-01T00:00:00Z", all...)
	s.fire("often", time.Date(2026, 10, 24, 12, 0, 0, 1e8, time.UTC))
	s.do("POST", "/v1/schedules/often/pause", "").want(200, nil)
	want("often", "", all[0])
	want("often", "?from=2001-01-01T00:00:00Z", all...)
	set(time.Date(2026, 10, 24, 12, 0, 5, 0, time.UTC))
	want("often", "")
	for query, field := range map[string]string{"limit=0": "limit", "limit=1001": "limit", "until=x": "until"} {
		code := "bad_parameter"
		if field == "until" {
			code = "unknown_parameter"
		}
		s.do("GET", "/v1/schedules/often/preview?"+query, "").problem(400, code, field)
	}
	s.do("GET", "/v1/schedules/often/preview?from=now", "").problem(400, "bad_time", "from")
}

// One invalid schedule would keep a client from reading the whole list.
func TestNoTimeOfAScheduleIsBeyondTheYear9999(t *testing.T) {
	s, _ := serveAt(t, elsewhen)
	s.do("PUT", "/v1/schedules/a", rule(`"every": "1h", "end": "9999-12-31T23:59:59-23:59"`)).problem(400, "out_of_range", "end")
	s.do("PUT", "/v1/schedules/a", rule(`"every": "1h", "end": "9999-12-31T23:59:59.9999Z"`)).problem(400, "out_of_range", "end")
	s.do("PUT", "/v1/schedules/a", rule(`"every": "1h"`)).want(201, nil)
	var p wire.Preview
	if s.do("GET", "/v1/schedules/a/preview?from=9999-12-31T22:30:00Z", "").want(200, &p); len(p.Instants) != 1 || p.Instants[0].At != "9999-12-31T23:00:00.000Z" {
		t.Errorf("%+v", p.Instants)
	}
}

// A server without a time zone in its database reports that, and continues with
// all other schedules.
func TestAScheduleWithAnUnknownZoneReportsIt(t *testing.T) {
	s := serve(t)
	spec := task.ScheduleSpec{Spec: task.DefaultSpec(), Rule: recurrence.Rule{Cron: "0 21 * * *", Zone: "Europe/Atlantis", CatchupWindow: time.Hour, CatchupLimit: 1}}
	spec.Name, spec.ID, spec.Request.URL = "a", "1", "http://example.com/"
	if replies, err := s.store.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes([]task.Change{task.PutSchedule{Spec: spec}})); err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
	if got := s.do("GET", "/v1/schedules/a", "").schedule(200); got.State != "active" || !strings.Contains(got.Problem, "Atlantis") || got.Words != "at 21:00 every day" || got.NextAt != "" {
		t.Errorf("%+v", got)
	}
	for target, body := range map[string]string{"GET /preview": "", "POST /backfill": `{"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}`} {
		method, below, _ := strings.Cut(target, " ")
		if p := s.do(method, "/v1/schedules/a"+below, body).problem(409, "busy", ""); !strings.Contains(p.Detail, "Atlantis") {
			t.Errorf("%s: %s", target, p.Detail)
		}
		doc, _ := openAPI(t)
		if op := doc.Paths["/v1/schedules/{name}"+below][strings.ToLower(method)]; op.Responses["409"] == nil {
			t.Errorf("%s: 409 is not described", target)
		}
	}
	s.do("POST", "/v1/schedules/a/trigger", "").want(201, nil)
}
