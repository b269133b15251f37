package api_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

func TestAnUnknownFieldSuggestsTheNearest(t *testing.T) {
	const request = `, "delay": "1h", "http": {"url": "http://example.com/"}}`
	s := serve(t)
	for _, c := range []struct{ route, body, field, suggests string }{
		{"POST /v1/tasks", `{"quue": "mail"` + request, "quue", "did you mean queue?"},
		{"POST /v1/tasks", `{"max_attempts": 3` + request, "max_attempts", "did you mean retry.max_attempts?"},
		{"POST /v1/tasks", `{"retry": {"maxAttempts": 3}` + request, "retry.maxAttempts", "did you mean max_attempts?"},
		{"POST /v1/tasks", `{"delay": "1h", "http": {"uri": "http://example.com/"}}`, "http.uri", "did you mean url?"},
		{"PATCH /v1/tasks/a", `{"label": {}}`, "label", "did you mean labels?"},
		{"PUT /v1/queues/mail", `{"rates": 5}`, "rates", "did you mean rate?"},
		{"PUT /v1/queues/mail", `{"max_attempts": 5}`, "max_attempts", "did you mean retry.max_attempts?"},
		{"PUT /v1/schedules/n", `{"cron": "@daily", "time_zone": "UTC", "task": {"http": {"url": "http://example.com/"}}}`, "time_zone", "did you mean timezone?"},
		{"PUT /v1/schedules/n", `{"cron": "@daily", "task": {"http": {"url": "http://example.com/"}, "prioritty": "low"}}`, "task.prioritty", "did you mean priority?"},
	} {
		method, target, _ := strings.Cut(c.route, " ")
		p := s.do(method, target, c.body).problem(400, "unknown_field", c.field)
		if !strings.Contains(p.Detail, c.suggests) || c.suggests != "did you mean "+p.Suggestion+"?" {
			t.Errorf("%s %s: %q does not say %q", c.route, c.body, p.Detail, c.suggests)
		}
	}
	if p := s.do("POST", "/v1/tasks", `{"colour": "red"`+request).problem(400, "unknown_field", "colour"); strings.Contains(p.Detail, "did you mean") {
		t.Errorf("nothing is near, and it suggests %q", p.Detail)
	}
	self := `{"cron": "@daily", "task": {"timezone": "UTC", "http": {"url": "http://example.com/"}}}`
	if p := s.do("PUT", "/v1/schedules/n", self).problem(400, "unknown_field", "task.timezone"); strings.Contains(p.Detail, "did you mean") {
		t.Errorf("a field of another object suggests %q", p.Detail)
	}
}

// A field that package wire describes, and that no code reads, would be refused as
// unknown.
func TestEveryFieldOfARequestIsRead(t *testing.T) {
	s := serve(t)
	var check func(route, before, after string, body reflect.Type)
	check = func(route, before, after string, body reflect.Type) {
		for _, f := range fields.Of(body) {
			open := before + `{"` + f.JSON + `": `
			method, target, _ := strings.Cut(route, " ")
			var p wire.Problem
			reply := s.do(method, target, open+`[]`+after+`}`)
			if err := json.Unmarshal(reply.body, &p); err != nil || p.Code == "unknown_field" || p.Code == "" {
				t.Errorf("%s: %s, %v", route, reply.body, err)
			}
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				check(route, open, after+`}`, inner)
			}
		}
	}
	for route, body := range map[string]any{
		"POST /v1/tasks": wire.TaskInput{}, "PATCH /v1/tasks/a": api.TaskPatch{}, "POST /v1/tasks/move?queue=q": wire.MoveInput{},
		"PUT /v1/schedules/a": wire.ScheduleInput{}, "POST /v1/schedules/preview": wire.ScheduleRule{},
		"PUT /v1/queues/a": wire.QueueInput{}, "POST /v1/queues/a/pause": wire.PauseInput{}, "PUT /v1/namespaces/a": wire.NamespaceInput{},
		"POST /v1/tokens": wire.TokenInput{}, "POST /v1/secrets": wire.SecretInput{},
	} {
		check(route, "", "", reflect.TypeOf(body))
	}
}

func TestASettingIsShownAsItWasPut(t *testing.T) {
	s := serve(t)
	for target, form := range map[string]any{"/v1/queues/a": wire.QueueInput{}, "/v1/namespaces/a": wire.NamespaceInput{}} {
		asked, shown := map[string]any{}, map[string]any{}
		for _, f := range fields.Of(reflect.TypeOf(form)) {
			asked[f.JSON] = sample(f.StructField)
		}
		body, err := json.Marshal(asked)
		fatal.If(t, err)
		s.do("PUT", target, string(body)).want(201, &shown)
		for name, want := range asked {
			if diff := cmp.Diff(want, shown[name]); diff != "" {
				t.Errorf("%s: %s: %s", target, name, diff)
			}
		}
	}
}

// sample returns a value of a setting.
func sample(f reflect.StructField) any {
	switch f.Type.Kind() {
	case reflect.Pointer:
		f.Type = f.Type.Elem()
		return sample(f)
	case reflect.Struct:
		inner := map[string]any{}
		for _, f := range fields.Of(f.Type) {
			inner[f.JSON] = sample(f.StructField)
		}
		return inner
	case reflect.Bool:
		return true
	case reflect.String:
		switch {
		case f.Tag.Get("pattern") == "duration":
			return "1m"
		case f.Tag.Get("format") == "uri":
			return "https://example.com/"
		}
		return "a"
	}
	return 2.0
}
