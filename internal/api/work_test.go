package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// withHandlers lets all namespaces have tasks with kinds.
func withHandlers(c *api.Config) { c.Engine = servertest.Engine{} }

// closeOrder is a task of a kind that is overdue.
const closeOrder = `{"name": "a", "at": "2020-01-01T00:00:00Z", "work": {"kind": "close-order", "args": {"order":  42}}}`

func TestArgumentsAreKeptByteForByte(t *testing.T) {
	for given, want := range map[string]string{
		`, "args": {"n":  12345678901234567890123, "s": "\u00e4<"}`: `{"n":  12345678901234567890123, "s": "\u00e4<"}`,
		`, "args": "text"`:   `"text"`,
		`, "args": 1.10`:     `1.10`,
		`, "args": false `:   `false`,
		`, "args": [ null ]`: `[ null ]`,
		`, "args": null`:     ``,
		``:                   ``,
	} {
		s := serve(t, withHandlers)
		input := `"work": {"kind": "close-order"` + given + `}`
		created := s.do("POST", "/v1/tasks", `{"name": "a", "delay": "1h", `+input+`}`).task(201)
		if created.BodySize != len(want) || created.Work.Args != nil || created.Work.Kind != "close-order" || !created.HTTP.IsZero() {
			t.Errorf("%s: created %+v", given, created)
		}
		s.do("PUT", "/v1/schedules/s", `{"every": "1h", "task": {`+input+`}}`).want(201, nil)
		if got := s.record("a").Request; string(got.Body) != want || got.Destination != "kind/close-order" || got.Method != "" {
			t.Errorf("%s: stored %+v", given, got)
		}
		shown := `"work":{"kind":"close-order"}`
		if want != "" {
			shown = `"work":{"kind":"close-order","args":` + want + `}`
		}
		for _, path := range []string{"/v1/tasks/a", "/v1/tasks?include=body", "/v1/schedules/s"} {
			if got := string(s.do("GET", path, "").want(200, nil).body); !strings.Contains(got, shown) || strings.Contains(got, `"http"`) {
				t.Errorf("%s: %s shows %s", given, path, got)
			}
		}
	}
}

func TestAPatchChangesArgumentsAndRefusesRequests(t *testing.T) {
	s := serve(t, withHandlers)
	s.do("POST", "/v1/tasks", closeOrder).want(201, nil)
	s.do("PUT", "/v1/tasks/b", `{"delay": "1h", "http": {"url": "http://example.com/"}}`).want(201, nil)
	if got := s.do("PATCH", "/v1/tasks/a", `{"work": {"args": [ 1 ]}}`).task(200); got.BodySize != 5 || string(s.record("a").Request.Body) != "[ 1 ]" {
		t.Errorf("%+v", got)
	}
	if got := s.do("PATCH", "/v1/tasks/a", `{"work": {"args": null}}`).task(200); got.BodySize != 0 || s.record("a").Request.BodyKind != task.NoBody {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct{ path, body, code, field string }{
		{"a", `{"work": {"kind": "other"}}`, "unknown_field", "work.kind"},
		{"a", `{"work": {"arg": 1}}`, "unknown_field", "work.arg"},
		{"a", `{"http": {"url": "http://example.com/"}}`, "conflict", "http"},
		{"a", `{"http": {"body": {}}}`, "conflict", "http"},
		{"a", `{"http": {"method": null}}`, "conflict", "http"},
		{"a", `{"http": {"headers": {"x-a": null}}}`, "conflict", "http"},
		{"b", `{"work": {"args": 1}}`, "conflict", "work"},
	} {
		s.do("PATCH", "/v1/tasks/"+c.path, c.body).problem(400, c.code, c.field)
	}
	if got := s.record("a"); got.Version != 3 {
		t.Errorf("a refused patch changed the task: version %d", got.Version)
	}
}

func TestTheTemplateOfAScheduleHasEitherHTTPOrWork(t *testing.T) {
	s := serve(t, withHandlers)
	for _, c := range []struct{ task, code, field string }{
		{`{}`, "required", "task.http"},
		{`{"http": {"url": "http://example.com/"}, "work": {"kind": "k"}}`, "conflict", "task.http"},
		{`{"work": {}}`, "required", "task.work.kind"},
		{`{"work": {"kind": "a/b"}}`, "bad_name", "task.work.kind"},
	} {
		s.do("PUT", "/v1/schedules/s", `{"every": "1h", "task": `+c.task+`}`).problem(400, c.code, c.field)
	}
}

func TestATokenOfScopeReadSeesTheKindAndNoHiddenArguments(t *testing.T) {
	s := serve(t, withHandlers)
	s.do("PUT", "/v1/namespaces/default", `{"hide_payloads": true}`).want(201, nil)
	s.do("POST", "/v1/tasks", closeOrder).want(201, nil)
	s.do("PUT", "/v1/schedules/s", `{"every": "1h", "task": {"work": {"kind": "close-order", "args": {"order":  42}}}}`).want(201, nil)
	read := s.token("default", settings.ScopeRead)
	for _, path := range []string{"/v1/tasks/a", "/v1/tasks", "/v1/schedules/s", "/v1/schedules"} {
		if got := string(s.do("GET", path, "", read).want(200, nil).body); !strings.Contains(got, `"work":{"kind":"close-order"}`) || !strings.Contains(got, `"hidden":true`) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestTasksOfASchedulePassTheArgumentsOn(t *testing.T) {
	s := serve(t, withHandlers)
	s.do("PUT", "/v1/schedules/s", `{"every": "1s", "start": "2020-01-01T00:00:00Z", "task": {"work": {"kind": "close-order", "args": "x"}}}`).want(201, nil)
	made := s.do("POST", "/v1/schedules/s/trigger", "").task(201)
	s.do("POST", "/v1/schedules/s/backfill", `{"from": "2020-01-01T00:00:00Z", "until": "2020-01-01T00:00:01Z"}`).want(200, nil)
	for _, name := range []string{made.Name, s.all()[0].Name} {
		if got := s.record(name).Request; got.Kind != "close-order" || string(got.Body) != `"x"` || got.Destination != "kind/close-order" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestUpcomingShowsTheKindInPlaceOfTheURL(t *testing.T) {
	s := serve(t, withHandlers)
	s.do("POST", "/v1/tasks", closeOrder).want(201, nil)
	s.do("PUT", "/v1/schedules/s", `{"every": "1m", "max_runs": 1, "task": {"work": {"kind": "report"}}}`).want(201, nil)
	var kinds []string
	for _, i := range s.upcoming("").Items {
		kinds = append(kinds, i.Kind+i.URL)
	}
	if got := strings.Join(kinds, " "); got != "close-order report" {
		t.Error(got)
	}
}

func TestArgumentsCountAgainstTheLimitOfBodies(t *testing.T) {
	s := serve(t, withHandlers, func(c *api.Config) { c.BodyLimit = small })
	for size, status := range map[int]int{small: 201, small + 1: 413} {
		args := `"` + strings.Repeat("x", size-2) + `"`
		r := s.do("POST", "/v1/tasks", fmt.Sprintf(`{"delay": "1h", "work": {"kind": "k", "args": %s}}`, args))
		if r.status != status {
			t.Errorf("%d bytes: %d, %s", size, r.status, r.body)
		}
	}
}

// Otherwise a program on the same Redis would run its handlers for a tenant's
// tasks.
func TestAKindIsRefusedInANamespaceThatDoesNotAllowKinds(t *testing.T) {
	s := serve(t)
	const work = `"work": {"kind": "close-order"}`
	calls := [][3]string{
		{"POST", "/v1/tasks", closeOrder},
		{"PUT", "/v1/tasks/b", `{"delay": "1h", ` + work + `}`},
		{"PUT", "/v1/schedules/s", `{"every": "1h", "task": {` + work + `}}`},
	}
	for _, c := range calls {
		s.do(c[0], c[1], c[2]).problem(403, "kind_not_allowed", "work.kind")
	}
	batch := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [{"name": "c", "delay": "1h", `+work+`}, {"name": "d", "delay": "1h", "http": {"url": "http://example.com/"}}]}`), 200)
	if batch.Results[0].Status != 403 || batch.Results[1].Status != 201 {
		t.Errorf("%+v", batch)
	}
	if all := s.all(); len(all) != 1 || all[0].Name != "d" {
		t.Errorf("made: %+v", all)
	}
	s.do("PUT", "/v1/namespaces/default", `{"kinds": true}`).want(201, nil)
	for _, c := range calls {
		s.do(c[0], c[1], c[2]).want(201, nil)
	}
}
