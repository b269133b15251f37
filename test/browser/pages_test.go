package browser

import (
	"fmt"
	"testing"
	"time"
)

// routes are all pages, and the details that seed makes.
var routes = []string{
	"now", "upcoming", "tasks", "tasks?state=dead", "tasks?order=ended", "tasks?order=due&state=scheduled", "tasks?order=newest", "task/order-1", "task/dead-1", "task/unknown", "schedules", "schedules/nightly",
	"simulator", "simulator?cron=30+2+*+*+*&timezone=Europe%2FBerlin", "queues", "queues/mail", "dead", "destinations",
	"server", "server?tab=nodes", "server?tab=namespaces", "server?tab=tokens", "server?tab=secrets", "server?tab=audit",
}

// seed makes tasks in every state, a schedule, a paused queue and a receiver that
// fails.
func (s *server) seed(receiver string) {
	s.t.Helper()
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	var tasks []object
	for i := range 60 {
		tasks = append(tasks, object{"name": fmt.Sprintf("order-%d", i), "at": in(time.Duration(i*i) * time.Minute), "queue": "mail", "labels": object{"tenant": "acme"}, "http": object{"url": receiver + "/ok"}})
	}
	for i := range 30 {
		tasks = append(tasks, object{"name": fmt.Sprintf("dead-%d", i), "delay": "0s", "retry": object{"max_attempts": 1}, "http": object{"url": receiver + "/fail", "method": "POST", "body": object{"n": i}}})
	}
	tasks = append(tasks, object{"name": "held-1", "delay": "0s", "queue": "paused", "http": object{"url": receiver + "/ok"}})
	s.must("PUT", "/v1/queues/mail", object{"rate": 5, "concurrency": 10}, nil)
	s.must("POST", "/v1/queues/paused/pause", object{}, nil)
	s.must("POST", "/v1/tasks/batch", object{"tasks": tasks}, nil)
	s.must("PUT", "/v1/schedules/nightly", object{"cron": "30 2 * * *", "timezone": "Europe/Berlin", "task": object{"http": object{"url": receiver + "/ok"}}}, nil)
	for i := range 30 {
		var dead struct{ State string }
		if s.must("GET", fmt.Sprintf("/v1/tasks/dead-%d?wait=20s", i), nil, &dead); dead.State != "dead" {
			s.t.Fatalf("dead-%d is %s", i, dead.State)
		}
	}
}

func TestEveryPageOfAnEmptyServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, v := range viewports {
		everyPage(t, s, "", v, true)
	}
}

func TestEveryPageWithTasks(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.seed(newReceiver(t))
	for _, v := range viewports {
		everyPage(t, s, s.token, v, false)
	}
}

// A token that may not read a part of a page must cause no failed request: the
// page knows the rights of its token.
func TestEveryPageWithATokenOfEachScope(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.seed(newReceiver(t))
	for _, scope := range []string{"read", "write", "admin"} {
		everyPage(t, s, s.newToken(scope, "default"), viewports[0], false)
	}
}

// everyPage opens each page in one tab. No page may have an error, or an element that
// is wider than the window. No page may violate its content security policy or the
// rules for accessible pages.
func everyPage(t *testing.T, s *server, token string, v viewport, empty bool) {
	t.Helper()
	b := open(t, s, token, v, "")
	for _, route := range routes {
		t.Run(fmt.Sprintf("%s %d %s", v.theme, v.width, route), func(t *testing.T) {
			b.t = t
			eval[bool](b, fmt.Sprintf(`(location.hash = '#/%s', true)`, route))
			b.ready()
			if empty || route == "task/unknown" {
				b.expect("status of 404") // the record does not exist
			}
			for _, violation := range b.violations() {
				t.Errorf("accessibility: %s", violation)
			}
			for _, e := range b.overflow() {
				t.Errorf("wider than the window: %s", e)
			}
			b.check()
		})
	}
	b.t = t
}
