package api_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const orders = `{"rate": 50, "burst": 5, "concurrency": 20, "per_destination": 4,
	"retry": {"max_attempts": 3, "min_backoff": "2s", "max_backoff": "2m", "max_age": "2h"},
	"timeout": "5s", "expire_after": "30m", "on_dead": "https://shop.example/dead", "keep_finished": "1h", "keep_dead": "48h"}`

func (r reply) queue(status int) wire.Queue {
	r.Helper()
	return decoded[wire.Queue](r, status)
}

func TestAPutReplacesAllSettingsOfAQueue(t *testing.T) {
	s := serve(t)
	s.do("GET", "/v1/queues/orders", "").problem(404, "not_found", "")
	r := s.do("PUT", "/v1/queues/orders", orders)
	made := r.queue(201)
	if r.header.Get("Location") != "/v1/queues/orders" || r.header.Get("ETag") == "" {
		t.Errorf("headers %v", r.header)
	}
	again := s.do("PUT", "/v1/queues/orders", `{"name": "orders", "rate": 1.5}`).queue(200)
	if again.Rate != 1.5 || again.Concurrency != 0 || again.Retry != nil || again.Timeout != "" || made.Version != 1 || again.Version != 2 || again.CreatedAt != made.CreatedAt {
		t.Errorf("a PUT replaces everything: %+v", again)
	}
	if gone := s.do("DELETE", "/v1/queues/orders", "").queue(200); gone.Version != 0 || gone.Rate != 0 {
		t.Errorf("%+v", gone)
	}
	s.do("DELETE", "/v1/queues/orders", "").problem(404, "not_found", "")
}

func TestAQueuesEntityTagGuardsIt(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/queues/q", `{}`, "If-Match: *").problem(412, "precondition_failed", "")
	old := s.do("PUT", "/v1/queues/q", `{"rate": 1}`, "If-None-Match: *").want(201, nil).header.Get("ETag")
	s.do("PUT", "/v1/queues/q", `{"rate": 2}`, "If-None-Match: *").problem(412, "precondition_failed", "")
	tag := s.do("PUT", "/v1/queues/q", `{"rate": 2}`, "If-Match: "+old).want(200, nil).header.Get("ETag")
	p := s.do("PUT", "/v1/queues/q", `{"rate": 3}`, "If-Match: "+old).problem(412, "precondition_failed", "")
	if !strings.Contains(p.Detail, "queue") {
		t.Errorf("detail %q", p.Detail)
	}
	s.do("DELETE", "/v1/queues/q", "", "If-Match: "+old).problem(412, "precondition_failed", "")
	if got := s.do("GET", "/v1/queues/q", ""); got.header.Get("ETag") != tag || got.queue(200).Rate != 2 {
		t.Errorf("%v %s", got.header, got.body)
	}
	s.do("DELETE", "/v1/queues/q", "", "If-Match: "+tag).want(200, nil)
}

func TestQueuesAreListedWithTheirCounts(t *testing.T) {
	s := serve(t)
	for _, q := range []string{"c", "a", "b"} {
		s.do("PUT", "/v1/queues/"+q, `{}`).want(201, nil)
	}
	s.do("POST", "/v1/tasks", `{"delay": "1h", "queue": "used", "http": {"url": "http://example.com/", "body": "12345"}}`).want(201, nil)
	s.do("POST", "/v1/tasks", `{"name": "gone", "delay": "1h", "queue": "used", "http": {"url": "http://example.com/"}}`).want(201, nil)
	s.do("DELETE", "/v1/tasks/gone", "").want(200, nil)
	var names []string
	var used wire.Queue
	for more := ""; ; {
		page := decoded[api.QueueList](s.do("GET", "/v1/queues?limit=3"+more, ""), 200)
		for _, q := range page.Queues {
			names = append(names, q.Name)
			used = q
		}
		if page.NextCursor == "" {
			break
		}
		more = "&cursor=" + page.NextCursor
	}
	if strings.Join(names, " ") != "a b c used" {
		t.Errorf("listed %v", names)
	}
	if used.Counts != (wire.Counts{Scheduled: 1, Cancelled: 1, Bytes: used.Counts.Bytes}) || used.Counts.Bytes < 5 || used.Version != 0 {
		t.Errorf("%+v", used)
	}
	if one := s.do("GET", "/v1/queues/used", "").queue(200); one.Counts != used.Counts {
		t.Errorf("%+v", one)
	}
}

func TestBadQueuesAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"rate": -1}`: "out_of_range rate", `{"rate": 1e999}`: "out_of_range rate", `{"rate": "5"}`: "wrong_type rate", `{"rate": 0}`: "out_of_range rate", `{"rate": 1e-400}`: "out_of_range rate", `{"rate": 0.0000001}`: "out_of_range rate", `{"concurrency": 0}`: "out_of_range concurrency", `{"per_destination": -0}`: "out_of_range per_destination",
		`{"burst": 5}`: "out_of_range burst", `{"rate": 1, "burst": 1.5}`: "wrong_type burst", `{"concurrency": -1}`: "out_of_range concurrency",
		`{"per_destination": 1000001}`: "out_of_range per_destination", `{"timeout": "2h"}`: "out_of_range timeout", `{"timeout": "5"}`: "bad_duration timeout",
		`{"on_dead": "ftp://x/"}`: "bad_scheme on_dead", `{"retry": {"max_attempts": -1}}`: "out_of_range retry.max_attempts", `{"retry": {"max": 1}}`: "unknown_field retry.max",
		`{"retry": {"min_backoff": "2h"}}`: "out_of_range retry.max_backoff", `{"keep_dead": "-1s"}`: "out_of_range keep_dead",
		`{"paused": true}`: "unknown_field paused", `{"foo": 1}`: "unknown_field foo", `{"rate": 1, "rate": 2}`: "duplicate_key rate", `{"name": "other"}`: "name_mismatch name",
		`[]`: "wrong_type ", ``: "unsupported_media_type Content-Type", `{`: "bad_json ", `{} {}`: "trailing_data ",
		`{"on_dead": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`: "too_deep *", `{"timeout": "` + strings.Repeat(" ", 64<<10) + `"}`: "request_too_large ",
	} {
		s := serve(t)
		r := s.do("PUT", "/v1/queues/q", body)
		var p wire.Problem
		r.want(r.status, &p)
		code, field, _ := strings.Cut(want, " ")
		if p.Code != code || field != "*" && p.Field != field || r.status < 400 {
			t.Errorf("%.60s: %d %s %s, want %s", body, r.status, p.Code, p.Field, want)
		}
		s.do("GET", "/v1/queues/q", "").problem(404, "not_found", "")
	}
	serve(t).do("PUT", "/v1/queues/a@b", `{}`).problem(400, "bad_name", "queue")
}

func TestAQueueIsPausedForAWhileOrUntilItIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("POST", "/v1/tasks", hour).want(201, nil)
		state := func() string { return s.do("GET", "/v1/tasks/a", "").task(200).State }
		pause := func(body string) wire.Queue { return s.do("POST", "/v1/queues/default/pause", body).queue(200) }

		if q := s.do("POST", "/v1/queues/default/pause", "").queue(201); !q.Paused || q.PausedUntil != "" || state() != "held" {
			t.Errorf("%+v, the task is %s", q, state())
		}
		if q := pause(`{"for": "10m"}`); q.PausedUntil != wire.FormatTime(time.Now().Add(10*time.Minute)) {
			t.Errorf("%+v", q)
		}
		time.Sleep(10*time.Minute - time.Second)
		if state() != "held" {
			t.Error("it was resumed too early")
		}
		time.Sleep(time.Second)
		if q := s.do("GET", "/v1/queues/default", "").queue(200); q.Paused || q.PausedUntil != "" || state() != "scheduled" {
			t.Errorf("%+v, the task is %s", q, state())
		}
		if q := pause(`{"until": "` + wire.FormatTime(time.Now().Add(time.Hour)) + `"}`); !q.Paused || q.PausedUntil == "" {
			t.Errorf("%+v", q)
		}
		if q := s.do("POST", "/v1/queues/default/resume", "").queue(200); q.Paused || q.PausedUntil != "" || state() != "scheduled" {
			t.Errorf("%+v, the task is %s", q, state())
		}
		for body, code := range map[string]string{
			`{"for": "0s"}`: "out_of_range", `{"for": "-1m"}`: "out_of_range", `{"for": "soon"}`: "bad_duration", `{"until": "2000-01-01T00:00:00Z"}`: "out_of_range",
			`{"until": "9000-01-01T00:00:00Z"}`: "out_of_range", `{"for": "1m", "until": "2100-01-01T00:00:00Z"}`: "two_times", `{"while": "1m"}`: "unknown_field", `{"for": "1m", "for": "2m"}`: "duplicate_key",
		} {
			field := body[2:strings.Index(body, `":`)]
			if code == "two_times" {
				field = "until"
			}
			s.do("POST", "/v1/queues/default/pause", body).problem(400, code, field)
		}
		if state() != "scheduled" {
			t.Error("a refused change took effect")
		}
	})
}

// A misspelled queue is refused and leaves no record.
func TestAnUnknownQueueIsNeitherResumedNorPurged(t *testing.T) {
	s := serve(t)
	for _, verb := range []string{"resume", "purge"} {
		if p := s.do("POST", "/v1/queues/ordres/"+verb, "").problem(404, "not_found", ""); !strings.Contains(p.Detail, `"ordres"`) || !strings.Contains(p.Detail, "GET /v1/queues") {
			t.Errorf("detail %q", p.Detail)
		}
	}
	s.do("POST", "/v1/tasks", hour).want(201, nil)
	if q := s.do("POST", "/v1/queues/default/resume", "").queue(200); q.Version != 0 || q.Counts.Scheduled != 1 { // it has tasks
		t.Errorf("%+v", q)
	}
	if n := len(s.store.Standing().Settings.List(settings.QueueKind, "")); n != 0 {
		t.Errorf("%d records were made", n)
	}
}

func TestAQueuesEntityTagGuardsPauseResumeAndPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("POST", "/v1/queues/q/pause", "", "If-Match: *").problem(412, "precondition_failed", "")
		tag := s.do("POST", "/v1/queues/q/pause", "", "If-None-Match: *").want(201, nil).header.Get("ETag")
		for _, verb := range []string{"pause", "resume", "purge"} {
			old := tag
			status := 200
			if verb == "purge" {
				status = 202
			}
			tag = s.do("POST", "/v1/queues/q/"+verb, "", "If-Match: "+old).want(status, nil).header.Get("ETag")
			s.do("POST", "/v1/queues/q/"+verb, "", "If-Match: "+old).problem(412, "precondition_failed", "")
			s.do("POST", "/v1/queues/q/"+verb, "", "If-None-Match: *").problem(412, "precondition_failed", "")
			s.do("POST", "/v1/queues/q/"+verb, "", "If-Match: q").problem(400, "bad_precondition", "If-Match")
			if got := s.do("GET", "/v1/queues/q", "").header.Get("ETag"); got != tag || got == old {
				t.Errorf("%s: the tag is %s, was %s", verb, got, old)
			}
		}
	})
}

// A running task may still be delivered, whether a client or a purge cancels
// it.
func TestAPurgedTaskThatRunsHasNoReasonYet(t *testing.T) {
	s := serve(t)
	settle := s.reach("running")
	if r, err := s.store.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes([]task.Change{task.Cancel{Key: s.record("a").Key(), Reason: task.ReasonPurged}})); err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	found := func() int {
		list := decoded[api.TaskList](s.do("GET", "/v1/tasks?reason=purged", ""), 200)
		return len(list.Tasks)
	}
	if got := s.do("GET", "/v1/tasks/a", "").task(200); got.Reason != "" || !got.CancelRequested || found() != 0 {
		t.Errorf("while it runs: %+v, found %d", got, found())
	}
	settle(task.Failure)
	if got := s.do("GET", "/v1/tasks/a", "").task(200); got.Reason != task.ReasonPurged || found() != 1 {
		t.Errorf("in the end: %+v, found %d", got, found())
	}
}

func TestHeldTasksAreFound(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"a1", "b1", "b2", "b3"} {
		s.do("POST", "/v1/tasks", `{"name": "`+name+`", "queue": "`+name[:1]+`", "delay": "1h", "http": {"url": "http://example.com/"}}`).want(201, nil)
	}
	s.do("POST", "/v1/queues/b/pause", "").want(201, nil)
	s.do("POST", "/v1/tasks/b2/run", "").want(200, nil) // passes the pause
	s.do("DELETE", "/v1/tasks/b3", "").want(200, nil)
	for filter, want := range map[string]string{
		"state=held": "b1:held", "state=held&queue=a": "", "state=scheduled": "a1:scheduled b1:held b2:scheduled", "state=held&state=scheduled": "a1:scheduled b1:held b2:scheduled",
		"state=held&state=cancelled": "b1:held b3:cancelled", "reason=cancelled": "b3:cancelled", "reason=expired": "",
		"contains=1": "a1:scheduled b1:held", "contains=B%203": "b3:cancelled", "contains=b%204": "",
	} {
		page := decoded[api.TaskList](s.do("GET", "/v1/tasks?"+filter, ""), 200)
		var got []string
		for _, task := range page.Tasks {
			got = append(got, task.Name+":"+task.State)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", filter, got, want)
		}
	}
	s.do("POST", "/v1/tasks/cancel?contains=%20", "").problem(400, "bad_parameter", "contains")
	done := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?state=held", ""), 200)
	if done.Changed != 1 || s.record("b1").State != task.Cancelled || s.record("a1").State != task.Scheduled || s.record("b2").State != task.Scheduled {
		t.Errorf("%+v", done)
	}
}

func TestAPurgeIsAcceptedAndHoldsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("POST", "/v1/tasks", hour).want(201, nil)
		if q := s.do("POST", "/v1/queues/default/purge", "").queue(202); !q.Purging || q.Counts.Scheduled != 1 {
			t.Errorf("%+v", q)
		}
		if got := s.do("GET", "/v1/tasks/a", "").task(200); got.State != "held" {
			t.Errorf("%+v", got)
		}
		s.do("DELETE", "/v1/queues/default", "").problem(409, "busy", "")
		s.do("POST", "/v1/queues/default/purge", `{"now": true}`).problem(400, "unexpected_body", "")
	})
}

func TestAPurgeCancelsNothingUnlessTheQueueHasAsManyTasksAsExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		createTasks(s, 5) // t0, t2 and t4 in q0
		s.do("DELETE", "/v1/tasks/t0", "").want(200, nil)
		for _, expect := range []string{"0", "1", "3", "5"} {
			p := s.do("POST", "/v1/queues/q0/purge?expect="+expect, "").problem(412, "count_differs", "expect")
			if p.Count == nil || *p.Count != 2 {
				t.Errorf("expect=%s: the problem is %+v, want count 2", expect, p)
			}
		}
		s.do("POST", "/v1/queues/q0/purge?expect=-1", "").problem(400, "bad_parameter", "expect")
		s.do("POST", "/v1/queues/none/purge?expect=0", "").problem(404, "not_found", "")
		if q := s.do("GET", "/v1/queues/q0", "").queue(200); q.Purging || q.Version != 0 || q.Counts.Scheduled != 2 {
			t.Errorf("after refused purges: %+v", q)
		}
		if q := s.do("POST", "/v1/queues/q0/purge?expect=2", "").queue(202); !q.Purging {
			t.Errorf("with the right number: %+v", q)
		}
	})
}

func TestAPurgeCancelsTheTasksOfBeforeItsRequestAndNoneOfAfterItsReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		skew := time.Duration(0) // of the clock that creates a task, against that of the purge
		s := serve(t, func(c *api.Config) { c.Now = func() time.Time { return time.Now().Add(skew) } })
		create := func(name string, by time.Duration) {
			skew = by
			s.do("POST", "/v1/tasks", named(name)).want(201, nil)
			skew = 0
		}
		create("before", settings.PurgeSkew-time.Millisecond)
		s.do("POST", "/v1/queues/default/purge", "").queue(202)
		create("after", -settings.PurgeSkew)
		doomed := s.store.Standing().Settings.Queue("default", "default").Doomed()
		if before, after := doomed.Match(s.record("before")), doomed.Match(s.record("after")); !before || after {
			t.Errorf("the purge cancels the task of before its request: %v, the task of after its reply: %v", before, after)
		}
		began := time.Now()
		skew = -time.Hour // the clock is set back
		s.do("POST", "/v1/queues/default/purge", "").queue(202)
		if took := time.Since(began); took != 2*settings.PurgeSkew {
			t.Errorf("after the clock was set back, a purge is answered after %v", took)
		}
	})
}

func TestATaskHasTheDefaultsOfItsQueue(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/queues/orders", orders).want(201, nil)
	const task1 = `{"name": "t", "delay": "1h", "http": {"url": "http://example.com/"}, "queue": "orders"}`
	const own = `{"queue": "orders", "name": "t", "delay": "1h", "http": {"url": "http://example.com/"}, "timeout": "15s", "expire_after": "0s", "on_dead": "", "retry": {"max_attempts": 0, "max_age": "0s"}}`
	check := func(how string, timeout, expire time.Duration, onDead string, attempts int, age time.Duration) {
		t.Helper()
		got := s.record("t")
		if got.Timeout != timeout || got.ExpireAfter != expire || got.OnDead != onDead || got.Retry.MaxAttempts != attempts || got.Retry.MaxAge != age || got.Retry.MinBackoff != 2*time.Second || got.Retry.MaxBackoff != 2*time.Minute {
			t.Errorf("%s: %+v", how, got)
		}
	}
	defaults := func(how string) {
		t.Helper()
		check(how, 5*time.Second, 30*time.Minute, "https://shop.example/dead", 3, 2*time.Hour)
	}
	made := s.do("POST", "/v1/tasks", task1).task(201)
	if defaults("create"); made.Timeout != "5s" || made.OnDead == nil || *made.OnDead != "https://shop.example/dead" {
		t.Errorf("%+v", made)
	}
	s.do("PUT", "/v1/tasks/t", own).want(200, nil)
	check("all of its own", 15*time.Second, 0, "", 0, 0)
	s.do("PATCH", "/v1/tasks/t", `{"timeout": null, "expire_after": null, "on_dead": null, "retry": {"max_attempts": null, "max_age": null}}`).want(200, nil)
	defaults("patched to null")
	s.do("PUT", "/v1/tasks/t", task1).want(200, nil)
	defaults("replace")
	s.do("DELETE", "/v1/tasks/t", "").want(200, nil)
	s.do("PUT", "/v1/tasks/t", strings.Replace(own, "orders", "none", 1)).want(201, nil)
	s.do("PATCH", "/v1/tasks/t", `{"timeout": null, "queue": "orders", "expire_after": null, "on_dead": null, "retry": {"max_attempts": null, "max_age": null, "min_backoff": null, "max_backoff": null}}`).want(200, nil)
	defaults("moved and patched to null")
	s.do("DELETE", "/v1/tasks/t", "").want(200, nil)

	batch := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+strings.Replace(task1, `"t"`, `"u"`, 1)+`]}`), 200)
	if got := s.record("u"); batch.Results[0].Status != 201 || got.Timeout != 5*time.Second || got.Retry.MaxAttempts != 3 {
		t.Errorf("batch: %+v %+v", batch, got)
	}
	publish := "/v1/publish?url=http%3A%2F%2Fexample.com%2F"
	s.do("POST", publish, "x", "Foliot-Name: p", "Foliot-Queue: orders", "Foliot-Delay: 1h").want(201, nil)
	if got := s.record("p"); got.Timeout != 5*time.Second || got.Retry.MaxAttempts != 3 || got.OnDead == "" {
		t.Errorf("publish: %+v", got)
	}
	s.do("POST", publish, "x", "Foliot-Name: q", "Foliot-Queue: orders", "Foliot-Delay: 1h", "Foliot-Retries: 7").want(201, nil)
	if got := s.record("q"); got.Retry.MaxAttempts != 8 {
		t.Errorf("publish: %+v", got)
	}
	s.do("PATCH", "/v1/tasks/none", `{"timeout": null}`).problem(404, "not_found", "")
}

func TestATaskKeepsTheSpanOfTheRequest(t *testing.T) {
	s := serve(t)
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for i, c := range []struct{ header, want string }{
		{span, span},
		{"", ""},
		{"nonsense", ""},
		{strings.ToUpper(span), ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		{"ff" + span[2:], ""},
		{span + "-more", ""},
		{"01" + span[2:] + "-more", span},
		{"01" + span[2:] + "more", ""},
		{"cc" + span[2:], span},
	} {
		name := string(rune('a' + i))
		got := s.do("POST", "/v1/tasks", named(name), "Traceparent: "+c.header).task(201)
		if got.Traceparent != c.want || s.record(name).Trace != c.want {
			t.Errorf("%q: %q, want %q", c.header, got.Traceparent, c.want)
		}
	}
	s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "x", "Foliot-Name: p", "Traceparent: "+span).want(201, nil)
	if got := s.record("p"); got.Trace != span || got.Request.Headers["Traceparent"] != "" {
		t.Errorf("%+v", got)
	}
	if got := s.do("PUT", "/v1/tasks/a", hour, "Traceparent: "+strings.Replace(span, "b7", "b8", 1)).task(200); !strings.Contains(got.Traceparent, "b8ad") {
		t.Errorf("%+v", got)
	}
}

func TestARepeatedCreateIsRecognisedAfterItsQueueChanged(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/queues/mail", `{"retry":{"max_backoff":"5h"}}`).want(201, nil)
	body := `{"queue":"mail","delay":"1h","retry":{"min_backoff":"2h"},"http":{"url":"https://example.com/"}}`
	first := s.do("POST", "/v1/tasks", body, "Idempotency-Key: k").task(201)
	s.do("PUT", "/v1/queues/mail", `{"retry":{"max_backoff":"1h"}}`).want(200, nil)
	if again := s.do("POST", "/v1/tasks", body, "Idempotency-Key: k").task(201); again.ID != first.ID {
		t.Errorf("made %s, and then %s", first.ID, again.ID)
	}
	s.do("POST", "/v1/tasks", body, "Idempotency-Key: another").problem(400, "out_of_range", "retry.max_backoff")
	s.do("POST", "/v1/tasks", strings.Replace(body, "2h", "3h", 1), "Idempotency-Key: k").problem(400, "out_of_range", "retry.max_backoff")
}
