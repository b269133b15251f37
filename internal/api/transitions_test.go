package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// reach brings a task named "a" into a state. It returns a function that ends
// its attempt, if one is under way.
func (s *service) reach(state string) (settle func(task.Verdict)) {
	s.Helper()
	due := strings.Replace(hour, "1h", "0s", 1)
	switch state {
	case "absent":
	case "scheduled":
		s.do("POST", "/v1/tasks", hour).want(201, nil)
	case "scheduled at":
		s.do("POST", "/v1/tasks", `{"name": "a", "at": "2090-01-01T00:00:00Z", "http": {"url": "http://example.com/"}}`).want(201, nil)
	default:
		s.do("POST", "/v1/tasks", strings.Replace(due, "0s", "1ms", 1)).want(201, nil)
		s.do("POST", "/v1/tasks/a/run", "").want(200, nil)
		for s.record("a").Due > task.FloorMillis(nowTime()) { // it is due in the millisecond that has begun
		}
		settle = s.claim("a")
		switch state {
		case "running":
			return settle
		case "dead":
			settle(task.Refusal)
		case "delivered":
			settle(task.Success)
		case "cancelled":
			s.do("DELETE", "/v1/tasks/a", "").want(202, nil)
			settle(task.Failure)
		default:
			s.Fatalf("no way to the state %q", state)
		}
	}
	return nil
}

func TestEveryCallInEveryState(t *testing.T) {
	const patch, move = `PATCH /v1/tasks/a {"labels": {"x": "y"}}`, `PATCH /v1/tasks/a {"delay": "2h"}`
	const create, put = "POST /v1/tasks " + hour, "PUT /v1/tasks/a " + hour
	const touch, run, retry, cancel = "POST /v1/tasks/a/touch ", "POST /v1/tasks/a/run ", "POST /v1/tasks/a/retry ", "DELETE /v1/tasks/a "
	for _, c := range []struct {
		call   string
		state  string
		status int
		code   string // expected code
		after  string // expected state; empty means no task
	}{
		{create, "absent", 201, "", "scheduled"},
		{create, "scheduled", 409, "exists", "scheduled"},
		{create, "running", 409, "exists", "running"},
		{create, "dead", 409, "exists", "dead"},
		{create, "delivered", 409, "exists", "delivered"},
		{create, "cancelled", 409, "exists", "cancelled"},

		{put, "absent", 201, "", "scheduled"},
		{put, "scheduled", 200, "", "scheduled"},
		{put, "running", 200, "", "running"},
		{put, "dead", 200, "", "scheduled"},
		{put, "delivered", 201, "", "scheduled"},
		{put, "cancelled", 201, "", "scheduled"},

		{patch, "absent", 404, "not_found", ""},
		{patch, "scheduled", 200, "", "scheduled"},
		{patch, "running", 200, "", "running"},
		{patch, "dead", 200, "", "dead"},
		{patch, "delivered", 409, "task_finished", "delivered"},
		{patch, "cancelled", 409, "task_finished", "cancelled"},

		{move, "absent", 404, "not_found", ""},
		{move, "scheduled", 200, "", "scheduled"},
		{move, "running", 409, "task_running", "running"},
		{move, "dead", 200, "", "dead"},
		{move, "delivered", 409, "task_finished", "delivered"},
		{move, "cancelled", 409, "task_finished", "cancelled"},

		{touch, "absent", 404, "not_found", ""},
		{touch, "scheduled", 200, "", "scheduled"},
		{touch, "scheduled at", 409, "no_delay", "scheduled"},
		{touch, "running", 409, "task_running", "running"},
		{touch, "dead", 409, "task_dead", "dead"},
		{touch, "delivered", 409, "task_finished", "delivered"},
		{touch, "cancelled", 409, "task_finished", "cancelled"},

		{run, "absent", 404, "not_found", ""},
		{run, "scheduled", 200, "", "scheduled"},
		{run, "running", 409, "task_running", "running"},
		{run, "dead", 409, "task_dead", "dead"},
		{run, "delivered", 409, "task_finished", "delivered"},
		{run, "cancelled", 409, "task_finished", "cancelled"},

		{retry, "absent", 404, "not_found", ""},
		{retry, "scheduled", 409, "task_not_dead", "scheduled"},
		{retry, "running", 409, "task_not_dead", "running"},
		{retry, "dead", 200, "", "scheduled"},
		{retry, "delivered", 409, "task_finished", "delivered"},
		{retry, "cancelled", 409, "task_finished", "cancelled"},

		{cancel, "absent", 404, "not_found", ""},
		{cancel, "scheduled", 200, "", "cancelled"},
		{cancel, "running", 202, "", "running"},
		{cancel, "dead", 200, "", "cancelled"},
		{cancel, "delivered", 409, "task_finished", "delivered"},
		{cancel, "cancelled", 200, "", "cancelled"},
	} {
		t.Run(c.call+" "+c.state, func(t *testing.T) {
			s := serve(t)
			s.reach(c.state)
			parts := strings.SplitN(c.call, " ", 3)
			r := s.do(parts[0], parts[1], parts[2])
			if c.code != "" {
				p := r.problem(c.status, c.code, "")
				if c.status == 409 && (p.State != s.record("a").State.String() || p.ID != s.record("a").ID) {
					t.Errorf("the problem is about %s, %s", p.ID, p.State)
				}
			} else if got := r.task(c.status); got.State != c.after || got.Durability != "memory" || r.header.Get("ETag") == "" {
				t.Errorf("answered %+v", got)
			}
			if c.after == "" {
				s.do("GET", "/v1/tasks/a", "").problem(404, "not_found", "")
				return
			}
			if got := s.do("GET", "/v1/tasks/a", "").task(200); got.State != c.after {
				t.Errorf("%s afterwards, want %s", got.State, c.after)
			}
		})
	}
}

func TestARepeatedCancelReturnsTheCancelledTask(t *testing.T) {
	s := serve(t)
	s.do("POST", "/v1/tasks", hour).want(201, nil)
	tag := s.do("GET", "/v1/tasks/a", "").header.Get("ETag")
	if got := s.do("DELETE", "/v1/tasks/a", "", "If-Match: "+tag, "Foliot-Client: page").task(200); got.Already || got.State != "cancelled" {
		t.Errorf("the first: %+v", got)
	}
	for _, headers := range [][]string{{"Foliot-Client: page"}, {"Foliot-Client: page", "If-Match: " + tag}, {"If-Match: *"}} {
		if got := s.do("DELETE", "/v1/tasks/a", "", headers...).task(200); !got.Already || got.UnderWay || got.State != "cancelled" || got.Version != 2 {
			t.Errorf("again with %v: %+v", headers, got)
		}
	}
	if n := s.audited("task.cancel"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
}

func TestAPutOrPatchReportsThatAnOldAttemptMayBegin(t *testing.T) {
	const put, patch = `{"delay": "2h", "http": {"url": "http://example.com/"}}`, `{"labels": {"x": "y"}}`
	for _, c := range []struct {
		reach, method, body string
		lost                bool // the process of the attempt died: the attempt may go on
		status              int
		underWay            bool
	}{
		{"scheduled", "PUT", put, false, 200, false},
		{"scheduled", "PATCH", patch, false, 200, false},
		{"running", "PUT", put, false, 200, true},
		{"running", "PATCH", patch, false, 200, true},
		{"running", "PUT", put, true, 200, true},
		{"running", "PATCH", patch, true, 200, true},
		{"delivered", "PUT", put, false, 201, false},
		{"absent", "PUT", put, false, 201, false},
	} {
		s := serve(t)
		s.reach(c.reach)
		if c.lost {
			if n, err := s.store.Reap(t.Context(), task.CeilMillis(nowTime().Add(time.Minute)), 10); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		if got := s.do(c.method, "/v1/tasks/a", c.body).task(c.status); got.UnderWay != c.underWay {
			t.Errorf("%s of a task that is %s, lost %v: under_way %v", c.method, c.reach, c.lost, got.UnderWay)
		}
	}
}

// A generated client sees the body before the status.
func TestTheReplyToACancelReportsAnAttemptUnderWay(t *testing.T) {
	for _, c := range []struct {
		reach, state string
		lost         bool // the process of the attempt died: the attempt may go on
		status       int
	}{
		{"scheduled", "cancelled", false, 200},
		{"dead", "cancelled", false, 200},
		{"running", "running", false, 202},
		{"running", "cancelled", true, 202},
	} {
		s := serve(t)
		s.reach(c.reach)
		if c.lost {
			if n, err := s.store.Reap(t.Context(), task.CeilMillis(nowTime().Add(time.Minute)), 10); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		got := s.do("DELETE", "/v1/tasks/a", "").task(c.status)
		if got.State != c.state || got.UnderWay != (c.status == 202) || got.CancelRequested != (c.state == "running") {
			t.Errorf("%s, lost %v: %+v", c.reach, c.lost, got)
		}
		if s.do("GET", "/v1/tasks/a", "").task(200).UnderWay {
			t.Errorf("%s: a read has it too", c.reach)
		}
	}
}
