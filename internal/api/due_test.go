package api_test

import (
	"testing"

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
		var list wire.TaskList
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
