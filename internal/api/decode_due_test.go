package api_test

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/wire"
)

// The clocks of Berlin skip 02:00 to 03:00 on 28 March 2027, and show 02:00 to 03:00
// twice on 31 October 2027.
func TestADueTimeCanBeLocal(t *testing.T) {
	for local, want := range map[string]string{
		`"at": "2027-03-28 09:00", "timezone": "Europe/Berlin"`:          "2027-03-28T07:00:00.000Z",
		`"timezone": "Europe/Berlin", "at": "2027-03-28T09:00:30.25"`:    "2027-03-28T07:00:30.250Z",
		`"at": "2027-03-28 02:30", "timezone": "Europe/Berlin"`:          "2027-03-28T01:00:00.000Z", // the end of the gap
		`"at": "2027-10-31 02:30:00.001", "timezone": "Europe/Berlin"`:   "2027-10-31T00:30:00.001Z", // the first of two
		`"at": "2027-10-31 02:30", "timezone": "UTC"`:                    "2027-10-31T02:30:00.000Z",
		`"at": "2027-10-31 02:30:00", "timezone": "America/Los_Angeles"`: "2027-10-31T09:30:00.000Z",
	} {
		s := serve(t)
		due := func(r reply, status int) {
			t.Helper()
			if got := r.task(status); got.DueAt != want || got.At != want || got.TimeZone != "" {
				t.Errorf("%s: %+v", local, got)
			}
		}
		task := func(name string) string { return strings.Replace(named(name), `"delay": "1h"`, local, 1) }
		due(s.do("POST", "/v1/tasks", task("a")), 201)
		due(s.do("PUT", "/v1/tasks/b", task("b")), 201)
		s.do("POST", "/v1/tasks", named("c")).want(201, nil)
		due(s.do("PATCH", "/v1/tasks/c", `{`+local+`}`), 200)
		batch := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+task("d")+`]}`), 200)
		if got := batch.Results[0]; got.DueAt != want {
			t.Errorf("%s in a batch: %+v", local, got)
		}
		s.do("POST", "/v1/tasks", named("e")).want(201, nil)
		s.do("POST", "/v1/tasks/move?prefix=e", `{`+local+`}`).want(200, nil)
		if got := s.do("GET", "/v1/tasks/e", "").task(200); got.DueAt != want {
			t.Errorf("%s after a move: %+v", local, got)
		}
	}
}

func TestALocalTimeAndItsZoneNeedEachOther(t *testing.T) {
	s := serve(t)
	s.do("POST", "/v1/tasks", named("a")).want(201, nil)
	for due, want := range map[string]struct{ code, field, says string }{
		`"at": "2027-03-28 09:00"`:                                   {"required", "timezone", "at is a local time"},
		`"at": "2027-03-28T09:00:00"`:                                {"required", "timezone", "2027-03-28T09:00:00Z"},
		`"at": "2027-03-28T09:00:00Z", "timezone": "Europe/Berlin"`:  {"conflict", "timezone", "has a zone of its own"},
		`"at": "2027-03-28 09:00", "timezone": "Berlin"`:             {"bad_timezone", "timezone", "Europe/Berlin"},
		`"at": "2027-03-28 09:00", "timezone": ""`:                   {"bad_timezone", "timezone", "Europe/Berlin"},
		`"at": "2027-03-28", "timezone": "Europe/Berlin"`:            {"bad_time", "at", "YYYY-MM-DD HH:MM"},
		`"at": "2027-03-28 09:00", "timezone": 1`:                    {"wrong_type", "timezone", "a string"},
		`"delay": "1h", "timezone": "Europe/Berlin"`:                 {"conflict", "timezone", "local time"},
		`"timezone": "Europe/Berlin"`:                                {"conflict", "timezone", "send at"},
		`"at": "2027-03-28 09:00", "timezone": "UTC", "delay": "1h"`: {"two_due_times", "delay", "at"},
		`"at": "tomorrow"`:                                           {"bad_time", "at", "RFC 3339"},
	} {
		for _, call := range []string{"POST /v1/tasks", "PUT /v1/tasks/b", "PATCH /v1/tasks/a", "POST /v1/tasks/move?prefix=a"} {
			method, target, _ := strings.Cut(call, " ")
			body := `{` + due + `}`
			if method != "PATCH" && !strings.Contains(target, "move") {
				body = `{` + due + `, "http": {"url": "http://example.com/"}}`
			}
			code, field := want.code, want.field
			if strings.Contains(target, "move") && code == "two_due_times" {
				field = ""
			}
			if p := s.do(method, target, body).problem(400, code, field); !strings.Contains(p.Detail, want.says) && field != "" {
				t.Errorf("%s %s: %s", call, due, p.Detail)
			}
		}
	}
}

func TestADurationCanHaveDays(t *testing.T) {
	s := serve(t)
	got := s.do("POST", "/v1/tasks", `{"name": "a", "delay": "1d12h", "expire_after": "3d", "http": {"url": "http://example.com/"}}`).task(201)
	if got.Delay != "36h" || got.ExpireAfter != "72h" {
		t.Errorf("%+v", got)
	}
	s.do("GET", "/v1/upcoming?until=2d&from=-1d", "").want(200, nil)
}
