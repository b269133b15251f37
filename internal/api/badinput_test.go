package api_test

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/wire"
)

const small = 1 << 10 // the body limit of the service under test

// with returns the smallest valid task with additional fields.
func with(more string) string {
	return `{"delay": "1h", "http": {"url": "http://example.com/"}, ` + more + `}`
}

func withHTTP(more string) string {
	return `{"delay": "1h", "http": {"url": "http://example.com/", ` + more + `}}`
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestBadInputIsRefusedByNameAndStoresNothing(t *testing.T) {
	const create, put, batch, publish = "POST /v1/tasks", "PUT /v1/tasks/a", "POST /v1/tasks/batch", "POST /v1/publish?url=http%3A%2F%2Fexample.com%2F"
	for _, c := range []struct {
		name    string
		route   string
		body    string
		status  int
		code    string
		field   string
		headers []string
	}{
		// JSON
		{"no body", create, "", 415, "unsupported_media_type", "Content-Type", nil},
		{"empty body", create, " \n", 400, "empty_body", "", nil},
		{"no JSON", create, "delay=5s", 400, "bad_json", "", nil},
		{"trailing data", create, hour + "{}", 400, "trailing_data", "", nil},
		{"an array", create, "[" + hour + "]", 400, "wrong_type", "", nil},
		{"null", create, "null", 400, "null_value", "", nil},
		{"invalid UTF-8", create, with("\"name\": \"\xff\""), 400, "bad_utf8", "name", nil},
		{"half a surrogate pair", create, with(`"name": "\ud800"`), 400, "bad_utf8", "name", nil},
		{"nested too deep", create, withHTTP(`"body": ` + nested(31)), 400, "too_deep", "http.body" + strings.Repeat("[0]", 30), nil},
		{"a key twice", create, with(`"delay": "2h"`), 400, "duplicate_key", "delay", nil},
		{"a key twice, once escaped", create, with(`"del\u0061y": "2h"`), 400, "duplicate_key", "delay", nil},
		{"a key twice inside the body to send", create, withHTTP(`"body": {"a": [{"b": 1, "b": 1}]}`), 400, "duplicate_key", "http.body.a[0].b", nil},
		{"a label twice", create, with(`"labels": {"a": "1", "a": "1"}`), 400, "duplicate_key", "labels.a", nil},
		{"a header twice", create, withHTTP(`"headers": {"x-a": "1", "X-A": "2"}`), 400, "duplicate_key", "http.headers.x-a", nil},

		// Fields
		{"an unknown field", create, with(`"colour": "red"`), 400, "unknown_field", "colour", nil},
		{"a field in other letters", create, with(`"Name": "a"`), 400, "unknown_field", "Name", nil},
		{"an unknown field inside", create, with(`"retry": {"attempts": 3}`), 400, "unknown_field", "retry.attempts", nil},
		{"a number for a string", create, `{"delay": 5}`, 400, "wrong_type", "delay", nil},
		{"a fraction", create, with(`"retry": {"max_attempts": 1.5}`), 400, "wrong_type", "retry.max_attempts", nil},
		{"a large number", create, with(`"retry": {"max_attempts": 100001}`), 400, "out_of_range", "retry.max_attempts", nil},
		{"a string for an object", create, `{"delay": "1h", "http": "http://example.com/"}`, 400, "wrong_type", "http", nil},
		{"a null field", create, with(`"name": null`), 400, "null_value", "name", nil},
		{"a null label", create, with(`"labels": {"a": null}`), 400, "null_value", "labels.a", nil},

		// Work
		{"neither http nor work", create, `{"delay": "1h"}`, 400, "required", "http", nil},
		{"both http and work", create, with(`"work": {"kind": "close-order"}`), 400, "conflict", "http", nil},
		{"work without a kind", create, `{"delay": "1h", "work": {"args": 1}}`, 400, "required", "work.kind", nil},
		{"a kind with a slash", create, `{"delay": "1h", "work": {"kind": "a/b"}}`, 400, "bad_name", "work.kind", nil},
		{"an unknown field of work", create, `{"delay": "1h", "work": {"name": "a"}}`, 400, "unknown_field", "work.name", nil},
		{"arguments that are no JSON", create, `{"delay": "1h", "work": {"kind": "a", "args": NaN}}`, 400, "bad_json", "work.args", nil},
		{"long arguments", create, `{"delay": "1h", "work": {"kind": "a", "args": "` + strings.Repeat("x", small) + `"}}`, 413, "body_too_large", "work.args", nil},

		// Time
		{"both at and delay", create, with(`"at": "2030-01-01T00:00:00Z"`), 400, "two_due_times", "delay", nil},
		{"neither at nor delay", create, `{"http": {"url": "http://example.com/"}}`, 400, "no_due_time", "at", nil},
		{"a time without zone", create, `{"at": "2030-01-01T00:00:00", "http": {"url": "http://example.com/"}}`, 400, "required", "timezone", nil},
		{"a time with an hour of one digit", create, `{"at": "2030-01-01T0:00:00Z", "http": {"url": "http://example.com/"}}`, 400, "bad_time", "at", nil},
		{"a time with a comma", create, `{"at": "2030-01-01T00:00:00,5Z", "http": {"url": "http://example.com/"}}`, 400, "bad_time", "at", nil},
		{"a leap second of a zone", create, `{"at": "2017-01-01T00:59:60.5+01:00", "http": {"url": "http://example.com/"}}`, 400, "bad_time", "at", nil},
		{"a zone of a day", create, `{"at": "2030-01-01T00:00:00+24:00", "http": {"url": "http://example.com/"}}`, 400, "bad_time", "at", nil},
		{"a zone with too many minutes", create, `{"at": "2030-01-01T00:00:00-01:60", "http": {"url": "http://example.com/"}}`, 400, "bad_time", "at", nil},
		{"a day there is not", create, `{"at": "2030-02-30T00:00:00Z", "http": {"url": "http://example.com/"}}`, 400, "bad_time", "at", nil},
		{"a time in 101 years", create, `{"at": "2199-01-01T00:00:00Z", "http": {"url": "http://example.com/"}}`, 400, "out_of_range", "at", nil},
		{"a delay without unit", create, `{"delay": "90", "http": {"url": "http://example.com/"}}`, 400, "bad_duration", "delay", nil},
		{"a negative delay", create, `{"delay": "-1s", "http": {"url": "http://example.com/"}}`, 400, "out_of_range", "delay", nil},
		{"a timeout of nothing", create, with(`"timeout": "0s"`), 400, "out_of_range", "timeout", nil},
		{"a bad backoff", create, with(`"retry": {"min_backoff": "x"}`), 400, "bad_duration", "retry.min_backoff", nil},

		// Names
		{"a bad queue", create, with(`"queue": "a b"`), 400, "bad_name", "queue", nil},
		{"an unknown priority", create, with(`"priority": "urgent"`), 400, "bad_priority", "priority", nil},

		// The request to send
		{"no URL", create, `{"delay": "1h", "http": {}}`, 400, "required", "http.url", nil},
		{"the Host header", create, withHTTP(`"headers": {"Host": "x"}`), 400, "forbidden_header", "http.headers.Host", nil},
		{"headers that are too large", create, withHTTP(`"headers": {"x": "` + strings.Repeat("1", 16<<10) + `"}`), 413, "too_large", "http.headers", nil},
		{"two bodies", create, withHTTP(`"body": "x", "body_base64": "eA=="`), 400, "two_bodies", "http.body_base64", nil},
		{"two bodies that differ in a quote", create, withHTTP(`"body": "x", "body_base64": "Ing="`), 400, "two_bodies", "http.body_base64", nil},
		{"bad base64", create, withHTTP(`"body_base64": "x"`), 400, "bad_base64", "http.body_base64", nil},
		{"a body over the limit", create, withHTTP(`"body": "` + strings.Repeat("x", small+1) + `"`), 413, "body_too_large", "http.body", nil},
		{"a request over any limit", create, withHTTP(`"body": "` + strings.Repeat("x", 400<<10) + `"`), 413, "request_too_large", "", nil},

		// The request as such
		{"no media type", create, hour, 415, "unsupported_media_type", "Content-Type", []string{"Content-Type: "}},
		{"JSON in another charset", create, hour, 415, "unsupported_media_type", "Content-Type", []string{"Content-Type: application/json; charset=utf-16"}},
		{"a compressed body", create, hour, 415, "unsupported_encoding", "Content-Encoding", []string{"Content-Encoding: gzip"}},
		{"an empty Idempotency-Key", create, hour, 400, "bad_idempotency_key", "Idempotency-Key", []string{"Idempotency-Key: "}},
		{"two Idempotency-Keys", create, hour, 400, "repeated_parameter", "Idempotency-Key", []string{"Idempotency-Key: a", "Idempotency-Key: b"}},
		{"an unknown parameter", create + "?name=a", hour, 400, "unknown_parameter", "name", nil},
		{"an unknown route", "POST /v1/task", hour, 404, "no_route", "", nil},
		{"a trailing slash", "POST /v1/tasks/", hour, 404, "no_route", "", nil},
		{"dots in the path", "POST /v1/x/../tasks", hour, 404, "no_route", "", nil},
		{"a method that is none", "PUT /v1/tasks", hour, 405, "method_not_allowed", "", nil},

		{"put: a name with @", "PUT /v1/tasks/a@b", `{"delay": "1h", "http": {"url": "http://x/"}}`, 400, "bad_name", "name", nil},
		{"put: another name in the body", put, with(`"name": "b"`), 400, "name_mismatch", "name", nil},
		{"put: an If-Match without quotes", put, hour, 400, "bad_precondition", "If-Match", []string{"If-Match: x.1"}},
		{"put: an If-None-Match with a tag", put, hour, 400, "bad_precondition", "If-None-Match", []string{`If-None-Match: "x.1"`}},
		{"put: a version of nothing", put, hour, 412, "precondition_failed", "", []string{`If-Match: "x.1"`}},
		{"put: no JSON", put, hour, 415, "unsupported_media_type", "Content-Type", []string{"Content-Type: text/plain"}},

		{"batch: an array", batch, "[" + hour + "]", 400, "wrong_type", "", nil},
		{"batch: no tasks", batch, `{}`, 400, "required", "tasks", nil},
		{"batch: an unknown field", batch, `{"tasks": [], "atomic": true}`, 400, "unknown_field", "atomic", nil},
		{"batch: tasks twice", batch, `{"tasks": [], "tasks": []}`, 400, "duplicate_key", "tasks", nil},
		{"batch: broken in the second item", batch, `{"tasks": [` + hour + `, {"delay": }]}`, 400, "bad_json", "tasks[1].delay", nil},
		{"batch: too many", batch, `{"tasks": [` + strings.Repeat(`{},`, 1000) + `{}]}`, 400, "too_many", "tasks[1000]", nil},
		{"batch: too large", batch, `{"tasks": [` + strings.Repeat(" ", 16<<20) + `]}`, 413, "request_too_large", "", nil},
		{"batch: an Idempotency-Key", batch, `{"tasks": [` + hour + `]}`, 400, "bad_idempotency_key", "Idempotency-Key", []string{"Idempotency-Key: a"}},

		{"publish: no URL", "POST /v1/publish", "x", 400, "required", "url", nil},
		{"publish: a bad URL", "POST /v1/publish?url=ftp%3A%2F%2Fx%2F", "x", 400, "bad_scheme", "url", nil},
		{"publish: two URLs", publish + "&url=x", "x", 400, "repeated_parameter", "url", nil},
		{"publish: a URL that is not encoded", "POST /v1/publish?url=http://example.com/?a=1&b=2", "x", 400, "unknown_parameter", "b", nil},
		{"publish: a query that cannot be parsed", "POST /v1/publish?url=http://x/%zz", "x", 400, "bad_parameter", "", nil},
		{"publish: both times", publish, "x", 400, "two_due_times", "Foliot-At", []string{"Foliot-Delay: 1s", "Foliot-At: 2030-01-01T00:00:00Z"}},
		{"publish: a bad time", publish, "x", 400, "bad_time", "Foliot-At", []string{"Foliot-At: later"}},
		{"publish: a negative delay", publish, "x", 400, "out_of_range", "Foliot-Delay", []string{"Foliot-Delay: -5s"}},
		{"publish: a bad name", publish, "x", 400, "bad_name", "Foliot-Name", []string{"Foliot-Name: a@b"}},
		{"publish: bad retries", publish, "x", 400, "out_of_range", "Foliot-Retries", []string{"Foliot-Retries: -1"}},
		{"publish: a typing error", publish, "x", 400, "unknown_header", "Foliot-Dealy", []string{"Foliot-Dealy: 1h"}},
		{"publish: two delays", publish, "x", 400, "repeated_parameter", "Foliot-Delay", []string{"Foliot-Delay: 1s", "Foliot-Delay: 2s"}},
		{"publish: too large", publish, strings.Repeat("x", small+1), 413, "body_too_large", "", nil},
		{"publish: headers too large", publish, "x", 413, "too_large", "", []string{"Foliot-Forward-X-Large: " + strings.Repeat("x", 16<<10)}},

		{"get: a bad name", "GET /v1/tasks/%00", "", 400, "bad_name", "name", nil},
		{"get: a bad wait", "GET /v1/tasks/a?wait=5", "", 400, "bad_duration", "wait", nil},
		{"get: a long wait", "GET /v1/tasks/a?wait=301s", "", 400, "out_of_range", "wait", nil},
		{"get: an unknown name with a wait", "GET /v1/tasks/a?wait=5s", "", 404, "not_found", "", nil},
		{"patch: no field in any object", "PATCH /v1/tasks/a", `{"http": {"headers": {}}, "labels": {}, "retry": {}, "work": {}}`, 400, "required", "", nil},
		{"patch: a number for a time", "PATCH /v1/tasks/a", `{"at": 1893553445}`, 400, "wrong_type", "at", nil},
		{"touch: a body", "POST /v1/tasks/a/touch", `{"delay": "5s"}`, 400, "unexpected_body", "", nil},

		{"list: an unknown state", "GET /v1/tasks?state=done", "", 400, "bad_parameter", "state", nil},
		{"list: two queues", "GET /v1/tasks?queue=a&queue=b", "", 400, "repeated_parameter", "queue", nil},
		{"list: a bad queue", "GET /v1/tasks?queue=", "", 400, "bad_name", "queue", nil},
		{"list: a label without value", "GET /v1/tasks?label=a", "", 400, "bad_parameter", "label", nil},
		{"list: a bad time", "GET /v1/tasks?due_before=now", "", 400, "bad_time", "due_before", nil},
		{"list: a large limit", "GET /v1/tasks?limit=1001", "", 400, "bad_parameter", "limit", nil},
		{"list: a bad cursor", "GET /v1/tasks?cursor=x", "", 400, "bad_cursor", "cursor", nil},
		{"cancel by filter: none", "POST /v1/tasks/cancel", "", 400, "no_filter", "", nil},
		{"cancel by filter: a typing error", "POST /v1/tasks/cancel?quue=a", "", 400, "unknown_parameter", "quue", nil},
		{"cancel by filter: not all", "POST /v1/tasks/cancel?all=false", "", 400, "no_filter", "", nil},
		{"cancel by filter: a bad all", "POST /v1/tasks/cancel?all=yes", "", 400, "bad_parameter", "all", nil},
		{"cancel by filter: in the body", "POST /v1/tasks/cancel?all=true", `{"queue": "a"}`, 400, "unexpected_body", "", nil},
		{"cancel by filter: a bad expect", "POST /v1/tasks/cancel?all=true&expect=some", "", 400, "bad_parameter", "expect", nil},
		{"cancel by filter: an expect alone", "POST /v1/tasks/cancel?expect=1", "", 400, "no_filter", "", nil},
		{"list: an expect", "GET /v1/tasks?expect=1", "", 400, "unknown_parameter", "expect", nil},
		{"retry by filter: none", "POST /v1/tasks/retry", "", 400, "no_filter", "", nil},
		{"retry by filter: a page of it", "POST /v1/tasks/retry?all=true&limit=5", "", 400, "unknown_parameter", "limit", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(cfg *api.Config) { cfg.BodyLimit = small })
			method, target, _ := strings.Cut(c.route, " ")
			r := s.do(method, target, c.body, c.headers...)
			r.problem(c.status, c.code, c.field)
			if stored := s.all(); len(stored) != 0 {
				t.Errorf("stored %d tasks", len(stored))
			}
			if c.status == 405 && r.header.Get("Allow") != "GET, HEAD, POST" {
				t.Errorf("Allow: %s", r.header.Get("Allow"))
			}
		})
	}
}

func TestABadPatchChangesNothing(t *testing.T) {
	for _, c := range []struct {
		name, body  string
		status      int
		code, field string
	}{
		{"an unknown field", `{"colour": 1}`, 400, "unknown_field", "colour"},
		{"another name", `{"name": "b"}`, 400, "unknown_field", "name"},
		{"a field of ours", `{"due_at": "2030-01-01T00:00:00Z"}`, 400, "unknown_field", "due_at"},
		{"no time", `{"at": null}`, 400, "null_value", "at"},
		{"no URL", `{"http": {"url": null}}`, 400, "null_value", "http.url"},
		{"no http", `{"http": null}`, 400, "null_value", "http"},
		{"a forbidden header", `{"http": {"headers": {"te": "x"}}}`, 400, "forbidden_header", "http.headers.te"},
		{"all labels", `{"labels": null}`, 400, "null_value", "labels"},
		{"two bodies", `{"http": {"body": 1, "body_base64": ""}}`, 400, "two_bodies", "http.body_base64"},
		{"bad backoffs", `{"retry": {"min_backoff": "2h"}}`, 400, "out_of_range", "retry.max_backoff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(cfg *api.Config) { cfg.BodyLimit = small })
			s.do("POST", "/v1/tasks", hour).want(201, nil)
			s.do("PATCH", "/v1/tasks/a", c.body).problem(c.status, c.code, c.field)
			if got := s.record("a"); got.Version != 1 {
				t.Errorf("changed: %+v", got)
			}
		})
	}
}

func TestABadItemOfABatchIsRefusedAlone(t *testing.T) {
	for _, c := range []struct {
		name, item  string
		status      int
		code, field string
	}{
		{"no object", `5`, 400, "wrong_type", ""},
		{"an unknown field", with(`"colour": [{"a": "}]"}]`), 400, "unknown_field", "colour"},
		{"too deep", withHTTP(`"body": ` + nested(31)), 400, "too_deep", "http.body" + strings.Repeat("[0]", 30)},
		{"a large body", withHTTP(`"body": "` + strings.Repeat("x", small+1) + `"`), 413, "body_too_large", "http.body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(cfg *api.Config) { cfg.BodyLimit = small })
			// The nesting of the batch does not count: each item may be nested as deep
			// as a single task.
			deepest := withHTTP(`"body": ` + nested(30))
			got := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+hour+`,`+c.item+`,`+deepest+`]}`), 200)
			if len(got.Results) != 3 || got.Results[0].Status != 201 || got.Results[2].Status != 201 || got.Results[2].ID == "" {
				t.Fatalf("the neighbours: %+v", got.Results)
			}
			if bad := got.Results[1]; bad.Status != c.status || bad.Code != c.code || bad.Field != c.field || bad.Detail == "" {
				t.Errorf("got %+v", bad)
			}
			if stored := s.all(); len(stored) != 2 {
				t.Errorf("stored %d tasks, want the neighbours", len(stored))
			}
		})
	}
}
