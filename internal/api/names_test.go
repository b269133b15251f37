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
