package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func TestADeadNoticeWithALongNameIsListedReadAndCancelled(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("a", task.MaxNameLen)
	s.do("POST", "/v1/tasks", `{"name":"`+long+`","delay":"0s","on_dead":"https://example.com/dead","http":{"url":"https://example.com/"}}`).task(201)
	s.do("POST", "/v1/tasks", `{"name":"z","delay":"1h","http":{"url":"https://example.com/"}}`).task(201)
	time.Sleep(2 * time.Millisecond) // delays are rounded up
	s.claim(long)(task.Refusal)
	var names []string
	for target := "/v1/tasks?limit=1"; ; {
		var page wire.TaskList
		s.do("GET", target, "").want(200, &page)
		for _, one := range page.Tasks {
			names = append(names, one.Name)
			s.do("GET", "/v1/tasks/"+one.Name, "").task(200)
		}
		if page.NextCursor == "" {
			break
		}
		target = "/v1/tasks?limit=1&cursor=" + url.QueryEscape(page.NextCursor)
	}
	if len(names) != 3 || !strings.HasPrefix(names[1], long+"@dead.") {
		t.Fatalf("listed %q", names)
	}
	s.do("DELETE", "/v1/tasks/"+names[1], "").task(200)
}

func TestAnInvalidNameHasTheRuleThatItBreaks(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("a", task.MaxNameLen+1)
	const letters, length = "begin with a letter or digit", "1 to 256 characters"
	for name, want := range map[string]string{"@a1": letters, "@": letters, "-a": letters, "a@-1": letters, long: length, long + "@1": length, "a@" + long: length} {
		if p := s.do("GET", "/v1/tasks/"+name, "").problem(400, "bad_name", "name"); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
}

// The refusal of a POST to a collection without POST has a hint for PUT.
func TestAPostToACollectionWithPutHasAHint(t *testing.T) {
	s := serve(t)
	for path, want := range map[string]string{
		"/v1/schedules": "this path supports only GET, HEAD: to create or change a record, use PUT /v1/schedules/{name}",
		"/v1/queues":    "this path supports only GET, HEAD: to create or change a record, use PUT /v1/queues/{queue}",
		"/v1/audit":     "this path supports only GET, HEAD", "/v1/tasks/a": "this path supports only GET, HEAD, PUT, PATCH, DELETE", "/": "this path supports only GET, HEAD",
	} {
		if p := s.do("POST", path, hour).problem(405, "method_not_allowed", ""); p.Detail != want {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
	if p := s.do("DELETE", "/v1/schedules", "").problem(405, "method_not_allowed", ""); p.Detail != "this path supports only GET, HEAD" {
		t.Error(p.Detail)
	}
}
