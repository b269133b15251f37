package api_test

import (
	"strings"
	"testing"
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
}
