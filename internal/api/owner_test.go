package api_test

import (
	"encoding/json"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// settingsWithOwner has a path and a valid body of each kind of object that
// foliot apply manages. The body has no closing brace.
var settingsWithOwner = map[string]string{
	"/v1/queues/mail":     `{"rate": 1`,
	"/v1/namespaces/acme": `{"max_pending": 10`,
	"/v1/schedules/daily": `{"cron": "@daily", "task": {"http": {"url": "https://shop.example/report"}}`,
}

// owner returns the owner in a reply that shows any kind of object.
func (r reply) owner() string {
	r.Helper()
	var shown struct {
		ManagedBy string `json:"managed_by"`
	}
	fatal.If(r, json.Unmarshal([]byte(r.body), &shown))
	return shown.ManagedBy
}

func TestAnOwnerStaysUntilAPutNamesAnother(t *testing.T) {
	for path, body := range settingsWithOwner {
		t.Run(path, func(t *testing.T) {
			s := serve(t)
			owner := func(method, body string) string {
				t.Helper()
				r := s.do(method, path, body)
				if r.status >= 300 {
					t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
				}
				return r.owner()
			}
			for _, step := range []struct{ method, body, want string }{
				{"PUT", body + `}`, ""},
				{"PUT", body + `, "managed_by": "team-a"}`, "team-a"},
				{"PUT", body + `}`, "team-a"}, // by a client that knows no owners
				{"GET", "", "team-a"},
				{"PUT", body + `, "managed_by": "team-b"}`, "team-b"},
				{"PUT", body + `, "managed_by": ""}`, ""},
			} {
				if got := owner(step.method, step.body); got != step.want {
					t.Errorf("after %s %s the owner is %q, want %q", step.method, step.body, got, step.want)
				}
			}
			s.do("PUT", path, body+`, "managed_by": "a b"}`).problem(400, "bad_name", "managed_by")
			s.do("PUT", path, body+`, "managed_by": 7}`).problem(400, "wrong_type", "managed_by")
		})
	}
}

func TestAPauseKeepsTheOwner(t *testing.T) {
	s := serve(t)
	for path, body := range settingsWithOwner {
		if path == "/v1/namespaces/acme" {
			continue
		}
		s.do("PUT", path, body+`, "managed_by": "team-a"}`).want(201, nil)
		for _, verb := range []string{"/pause", "/resume"} {
			if got := s.do("POST", path+verb, "").want(200, nil).owner(); got != "team-a" {
				t.Errorf("after %s%s the owner is %q", path, verb, got)
			}
		}
	}
}
