package browser

import (
	"fmt"
	"testing"
)

func TestThePageShowsWhoDidWhat(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.must("POST", "/v1/tasks", object{"name": "first", "delay": "1h", "http": object{"url": "http://127.0.0.1:1/"}}, nil)
	s.must("POST", "/v1/queues/mail/pause", object{}, nil)
	for hash, entry := range map[string]string{
		"#/task/first":                   "token:",
		"#/queues/mail":                  "by token:",
		"#/server?tab=audit&target=mail": "queue.pause",
	} {
		open(t, s, s.token, viewports[0], hash).await(fmt.Sprintf(`document.querySelector('main').innerText.includes(%q)`, entry))
	}
	b := open(t, s, s.token, viewports[0], "#/task/first")
	b.click("main", "Touch")
	b.click("dialog", "Touch")
	b.await(`document.querySelector('main').innerText.includes('task.touch')`)
	eval[bool](b, `(location.hash = '#/server?tab=audit&target=first', true)`)
	b.await(`document.querySelector('main').innerText.includes('from the page')`)
	eval[bool](b, `(location.hash = '#/server?tab=audit&from=2020-01-01T00:00:00.000Z', true)`)
	b.await(`document.querySelector('main .command code')?.textContent.includes('--since')`)
}

// A destination that refuses some of its tasks is shown, although other tasks are
// delivered there.
func TestTheFirstPageShowsADestinationThatFailsNowAndThen(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	receiver := newReceiver(t)
	for _, path := range []string{"/fail", "/ok"} {
		name := "task" + path[1:]
		s.must("POST", "/v1/tasks", object{"name": name, "delay": "0s", "retry": object{"max_attempts": 1}, "http": object{"url": receiver + path}}, nil)
		s.must("GET", "/v1/tasks/"+name+"?wait=20s", nil, nil)
	}
	b := open(t, s, s.token, viewports[0], "#/now")
	b.await(`document.querySelector('main').innerText.includes('1 of the last 2 attempts failed')`)
}
