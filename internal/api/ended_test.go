package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// ended returns the names of a list in the order of ends.
func (s *service) ended(query string) (string, api.TaskList) {
	s.Helper()
	list := decoded[api.TaskList](s.do("GET", "/v1/tasks?order=ended"+query, ""), 200)
	var names []string
	for _, t := range list.Tasks {
		names = append(names, t.Name)
	}
	return strings.Join(names, " "), list
}

func TestEndedTasksAreListedByTheirEnds(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s := serve(t, func(c *api.Config) { c.Now = func() time.Time { return now } })
	s.do("POST", "/v1/tasks", named("live")).want(201, nil)
	for _, name := range []string{"m", "z", "a", "k"} {
		now = now.Add(time.Second)
		s.do("POST", "/v1/tasks", named(name)).want(201, nil)
		s.do("DELETE", "/v1/tasks/"+name, "").want(200, nil)
	}
	for query, want := range map[string]string{
		"": "k a z m", "&state=cancelled&state=dead": "k a z m", "&state=dead": "", "&limit=2": "k a", "&prefix=z": "z", "&queue=none": "", "&reason=cancelled&limit=4": "k a z m",
	} {
		got, list := s.ended(query)
		if got != want || (list.NextCursor != "") != (query == "&limit=2") {
			t.Errorf("%s: %s, %+v", query, got, list)
		}
	}
	ended := now.Add(-2 * time.Second).Format(time.RFC3339)
	if got, list := s.ended("&ended_after=" + ended); got != "k a" || list.NextCursor != "" {
		t.Errorf("after %s: %s, %+v", ended, got, list)
	}
	for _, query := range []string{"&ended_after=1970-01-01T00:00:00Z", "&ended_after=1960-01-01T00:00:00Z"} {
		if got, _ := s.ended(query); got != "k a z m" {
			t.Errorf("%s: %s", query, got)
		}
	}
	s.do("POST", "/v1/tasks", `{"name": "waits", "delay": "1h", "http": {"url": "https://a.example/"}}`).want(201, nil)
	if got := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?dry_run=true&ended_after=1970-01-01T00:00:00Z", ""), 200); got.Matched == nil || *got.Matched != 0 {
		t.Errorf("a cancel of tasks that have ended would cancel %v", got.Matched)
	}
	_, list := s.ended("&limit=2")
	if got, list := s.ended("&limit=2&cursor=" + list.NextCursor); got != "z m" || list.NextCursor != "" {
		t.Errorf("the second page: %s, %+v", got, list)
	}
	s.do("GET", "/v1/tasks?cursor="+list.NextCursor, "").problem(400, "bad_cursor", "cursor")
	now = now.Add(task.DefaultKeepFinished - 2500*time.Millisecond)
	if got, _ := s.ended(""); got != "k a z" {
		t.Errorf("after the retention of m: %s", got)
	}
}

func TestAListOfEndedTasksRefusesWhatItCannotDo(t *testing.T) {
	s := serve(t)
	for query, parameter := range map[string]string{
		"order=ended&state=scheduled": "state", "order=ended&state=dead&state=running": "state", "order=ended&state=held": "state",
		"order=name": "order", "order=": "order",
	} {
		s.do("GET", "/v1/tasks?"+query, "").problem(400, "bad_parameter", parameter)
	}
	s.do("GET", "/v1/tasks?order=ended&cursor=MW9yZGVyb3JkZXI0Mg", "").problem(400, "bad_cursor", "cursor") // of a list by names
	s.do("POST", "/v1/tasks/cancel?order=ended", "").problem(400, "unknown_parameter", "order")
}
