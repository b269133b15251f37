package api_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func TestDueAtKeepsTheTimeThatWasAskedFor(t *testing.T) {
	s := serve(t)
	const asked = "2020-01-01T00:00:00.000Z"
	s.do("POST", "/v1/tasks", `{"name": "a", "at": "2020-01-01T00:00:00Z", "http": {"url": "http://example.com/"}}`).want(201, nil)
	check := func(when string, wantNext bool) {
		t.Helper()
		got := s.do("GET", "/v1/tasks/a", "").task(200)
		if got.DueAt != asked || got.At != asked || (got.NextAt != "") != wantNext {
			t.Errorf("%s: due_at %q, at %q, next_at %q", when, got.DueAt, got.At, got.NextAt)
		}
		var list api.TaskList
		if s.do("GET", "/v1/tasks?due_before=2020-01-02T00:00:00Z&due_after=2019-12-31T00:00:00Z", "").want(200, &list); len(list.Tasks) != 1 {
			t.Errorf("%s: the list by due_at finds %d tasks", when, len(list.Tasks))
		}
	}
	check("before the first attempt", true)
	settle := s.claim("a")
	check("while it is under way", false)
	settle(task.Failure)
	check("after it has failed", true)
	if got := s.do("GET", "/v1/tasks/a", "").task(200); got.NextAt <= asked {
		t.Errorf("the retry is at %q", got.NextAt)
	}
}

func TestADeliveredTaskOfAQueueThatKeepsBodiesIsSentAgain(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/queues/default", `{"keep_bodies": true}`).want(201, nil)
	var q wire.Queue
	if s.do("GET", "/v1/queues/default", "").want(200, &q); !q.KeepBodies {
		t.Errorf("the queue: %+v", q)
	}
	s.do("POST", "/v1/tasks", `{"name": "a", "at": "2020-01-01T00:00:00Z", "http": {"url": "http://example.com/", "body": {"order": 42}}}`).want(201, nil)
	s.claim("a")(task.Success)
	done := s.do("GET", "/v1/tasks/a", "").task(200)
	if done.State != "delivered" || string(done.HTTP.Body) != `{"order": 42}` || done.BodySize != 13 {
		t.Fatalf("delivered: %+v", done)
	}
	var bulk wire.BulkReply
	if s.do("POST", "/v1/tasks/retry?all=true", "").want(200, &bulk); bulk.Changed != 0 {
		t.Errorf("a retry of all dead tasks sends delivered ones: %+v", bulk)
	}
	if s.do("POST", "/v1/tasks/retry?state=delivered", "").want(200, &bulk); bulk.Changed != 1 {
		t.Errorf("%+v", bulk)
	}
	again := s.do("GET", "/v1/tasks/a", "").task(200)
	if again.ID != done.ID || again.State != "scheduled" || string(again.HTTP.Body) != `{"order": 42}` || len(again.Attempts) != 1 {
		t.Errorf("again: %+v", again)
	}
	s.do("PUT", "/v1/queues/default", `{}`).want(200, nil)
	for s.record("a").Due > task.FloorMillis(nowTime()) { // it is due in the millisecond that has begun
	}
	s.claim("a")(task.Success)
	s.do("POST", "/v1/tasks/a/retry", "").problem(409, "task_finished", "")
}

func TestABodyIsShownByteForByte(t *testing.T) {
	s := serve(t)
	const body = "{ \"a\" : [1,\n\t2.0e0 ],\"b\":\"<&>\" }"
	s.do("POST", "/v1/tasks", `{"name": "a", "delay": "1h", "http": {"url": "http://example.com/", "body": `+body+`}}`).want(201, nil)
	s.do("PUT", "/v1/schedules/s", `{"every": "1h", "task": {"http": {"url": "http://example.com/", "body": `+body+`}}}`).want(201, nil)
	for _, path := range []string{"/v1/tasks/a", "/v1/tasks?include=body", "/v1/schedules/s", "/v1/schedules?include=body"} {
		if got := s.do("GET", path, ""); !strings.Contains(string(got.body), `"body":`+body) {
			t.Errorf("GET %s: %s", path, got.body)
		}
	}
}

func TestACreateAcceptsTheFieldsOfAnExport(t *testing.T) {
	s := serve(t)
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	const head = `{"name": "a", "http": {"url": "http://example.com/"}, `
	got := s.do("POST", "/v1/tasks", head+`"at": "2030-01-01T00:00:00Z", "first_attempt_at": "2030-01-01T01:00:00Z", "traceparent": "`+span+`"}`,
		"Traceparent: 00-11111111111111111111111111111111-1111111111111111-01").task(201)
	if got.DueAt != "2030-01-01T00:00:00.000Z" || got.NextAt != "2030-01-01T01:00:00.000Z" || got.Traceparent != span {
		t.Errorf("%+v", got)
	}
	s.do("PUT", "/v1/tasks/a", head+`"delay": "1h", "first_attempt_at": "2030-01-01T01:00:00Z"}`).problem(400, "conflict", "first_attempt_at")
	s.do("PUT", "/v1/tasks/a", head+`"delay": "1h", "traceparent": "00-0-0-0"}`).problem(400, "bad_traceparent", "traceparent")
	s.do("PATCH", "/v1/tasks/a", `{"first_attempt_at": "2030-01-01T01:00:00Z"}`).problem(400, "unknown_field", "first_attempt_at")
	const rest = `"task": {"http": {"url": "http://example.com/"}}}`
	s.do("PUT", "/v1/schedules/s", `{"every": "1h", "runs": -1, `+rest).problem(400, "out_of_range", "runs")
}

// TestARequestDoesNotTakeTheNextAttemptOfAReply: a client may read a task, move
// at forward and put the task back. It must not silently get the old time.
func TestARequestDoesNotTakeTheNextAttemptOfAReply(t *testing.T) {
	s := serve(t)
	const head = `{"name": "a", "http": {"url": "http://example.com/"}, `
	shown := s.do("POST", "/v1/tasks", head+`"at": "2030-01-02T00:00:00Z"}`).task(201)
	again := head + `"at": "2030-01-01T00:00:00Z"`
	for _, request := range []string{"PUT /v1/tasks/a", "POST /v1/tasks", "PATCH /v1/tasks/a"} {
		method, path, _ := strings.Cut(request, " ")
		body := again
		if method == "PATCH" {
			body = `{"at": "2030-01-01T00:00:00Z"`
		}
		p := s.do(method, path, body+`, "next_at": "`+shown.NextAt+`"}`).problem(400, "unknown_field", "next_at")
		if !strings.Contains(p.Detail, "leave it out") {
			t.Errorf("%s: %s", request, p.Detail)
		}
	}
	if got := s.do("PUT", "/v1/tasks/a", again+"}").task(200); got.NextAt != "2030-01-01T00:00:00.000Z" || s.record("a").Due != s.record("a").OriginalDue {
		t.Errorf("next_at %s", got.NextAt)
	}
}

func TestAScheduleThatWasReadCanBePutWithAnotherRule(t *testing.T) {
	s := serve(t)
	const rest = `"max_runs": 9, "task": {"http": {"url": "http://example.com/"}}}`
	shown := decoded[wire.Schedule](s.do("PUT", "/v1/schedules/s", `{"every": "1h", "runs": 3, `+rest), 201)
	got := decoded[wire.Schedule](s.do("PUT", "/v1/schedules/s", `{"cron": "0 9 * * *", "runs": 2, "anchor": "`+shown.Anchor+`", `+rest), 200)
	if shown.Anchor == "" || got.Anchor != "" || *got.Runs != 3 {
		t.Errorf("anchor %q, then %q, %d runs", shown.Anchor, got.Anchor, *got.Runs)
	}
}

// TestABodyIsTakenAsAReadShowsIt: a request may have both forms of a body if
// they are the same value.
func TestABodyIsTakenAsAReadShowsIt(t *testing.T) {
	html := `"` + strings.Repeat("<", 200<<10) + `"` // a reply escapes each <, which makes 1.2 MB
	for _, body := range []string{" {\"a\": [1.50, \"<\u00e9\", true]}\n", `"text"`, "null", " 7 ", `{"half a pair": "\ud83d"}` + "\n", html} {
		s := serve(t)
		s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", body, "Foliot-Name: a", "Foliot-Delay: 1h").want(201, nil)
		shown := s.do("GET", "/v1/tasks/a", "").task(200)
		var both map[string]json.RawMessage
		request, err := json.Marshal(shown.HTTP)
		if err != nil || json.Unmarshal(request, &both) != nil || both["body"] == nil || both["body_base64"] == nil {
			t.Fatalf("%s: %v", request, err)
		}
		for _, c := range []struct{ method, document string }{
			{"PUT", `{"delay": "1h", "http": ` + string(request) + `}`},
			{"PUT", `{"delay": "1h", "http": {"url": "http://example.com/", "body_base64": ` + string(both["body_base64"]) + `, "body": ` + string(both["body"]) + `}}`},
			{"PATCH", `{"http": {"body": ` + string(both["body"]) + `, "body_base64": ` + string(both["body_base64"]) + `}}`},
		} {
			if got := s.do(c.method, "/v1/tasks/a", c.document); got.status != 200 {
				t.Fatalf("%s %.999s: %s", c.method, c.document, got.body)
			}
			if got := s.record("a").Request; got.BodyKind != task.JSONBody || string(got.Body) != body {
				t.Errorf("%s %.999s: kind %d, %.999q", c.method, c.document, got.BodyKind, got.Body)
			}
		}
		for _, other := range []string{`{"a": [1.50, "<\u00e9"]}`, `{"a": [1.50, "<\u00e9", true], "b": 1}`, `"other"`, `8`, "[null]"} {
			s.do("PATCH", "/v1/tasks/a", `{"http": {"body": `+other+`, "body_base64": `+string(both["body_base64"])+`}}`).problem(400, "two_bodies", "http.body_base64")
		}
	}
}

// A reply must be JSON for every client: some refuse a whole page because of
// one byte.
func TestAPublishedBodyOutsideUTF8IsShownAsBytes(t *testing.T) {
	const body = "{\"a\": \"\xff\"}"
	for name, keep := range map[string]func(s *service){
		"now": func(s *service) {
			s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", body, "Foliot-Name: a", "Foliot-Delay: 1h", "Content-Type: application/json").want(201, nil)
		},
		"through package foliot": func(s *service) {
			spec := task.DefaultSpec()
			spec.Namespace, spec.Name, spec.ID = task.DefaultNamespace, "a", task.NewID(1)
			spec.Request = task.Request{URL: "http://example.com/", Method: "POST", BodyKind: task.JSONBody, BodySize: len(body), Body: []byte(body)}
			if replies, err := s.store.Transit(s.Context(), 1, store.Changes([]task.Change{task.Create{Spec: spec}})); err != nil || replies[0].Err != nil {
				s.Fatal(err, replies)
			}
		},
	} {
		s := serve(t)
		keep(s)
		for _, path := range []string{"/v1/tasks/a", "/v1/tasks?include=body"} {
			got := s.do("GET", path, "")
			if got.status != 200 || !utf8.Valid(got.body) || !strings.Contains(string(got.body), base64.StdEncoding.EncodeToString([]byte(body))) {
				t.Errorf("kept %s, %s: %d %q", name, path, got.status, got.body)
			}
		}
	}
}
