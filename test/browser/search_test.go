package browser

import (
	"fmt"
	"testing"
)

// One request examines 10,000 entries of the audit log, and a busy namespace has more.
func TestThePageFindsOldEntriesOfTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.token = s.newToken("admin", "*")
	target := object{"url": "http://127.0.0.1:1/"}
	s.must("POST", "/v1/tasks", object{"name": "first", "delay": "1h", "http": target}, nil)
	s.must("POST", "/v1/queues/mail/pause", object{}, nil)
	const batches, batch = 11, 1000
	for i := range batches {
		tasks := make([]object, batch)
		for j := range tasks {
			tasks[j] = object{"name": fmt.Sprintf("later-%d-%d", i, j), "delay": "1h", "http": target}
		}
		s.must("POST", "/v1/tasks/batch", object{"tasks": tasks}, nil)
	}
	for hash, entry := range map[string]string{
		"#/task/first":                    "task.create",
		"#/queues/mail":                   "by token:",
		"#/server?tab=audit&target=mail":  "queue.pause",
		"#/server?tab=audit&target=first": "task.create",
	} {
		open(t, s, s.token, viewports[0], hash).await(fmt.Sprintf(`document.querySelector('main').innerText.includes(%q)`, entry))
	}
}

// A destination that refuses some of its tasks is shown, although other tasks are
// delivered there.
func TestTheFirstPageShowsADestinationThatFailsNowAndThen(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.token = s.newToken("admin", "*")
	receiver := newReceiver(t)
	for _, path := range []string{"/fail", "/ok"} {
		name := "task" + path[1:]
		s.must("POST", "/v1/tasks", object{"name": name, "delay": "0s", "retry": object{"max_attempts": 1}, "http": object{"url": receiver + path}}, nil)
		s.must("GET", "/v1/tasks/"+name+"?wait=20s", nil, nil)
	}
	b := open(t, s, s.token, viewports[0], "#/now")
	b.await(`document.querySelector('main').innerText.includes('1 of the last 2 attempts failed')`)
}
