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

func TestNewDataLeavesTheTextThatAUserTypes(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	b := open(t, s, s.token, viewports[0], "#/tasks")
	b.await(`document.querySelector('main').innerText.includes('There are no tasks')`)
	const input = `document.querySelector('main input[placeholder="order-"]')`
	eval[bool](b, `(`+input+`.value = 'ord', true)`) // without the end of the edit
	s.must("POST", "/v1/tasks", object{"name": "first", "delay": "1h", "http": object{"url": "http://127.0.0.1:1/"}}, nil)
	eval[bool](b, `(location.hash = '#/tasks?order=newest', true)`)
	b.await(`document.querySelector('main tbody a[href*="first"]') !== null`)
	if text := eval[string](b, input+`.value`); text != "ord" {
		t.Errorf("the input has %q", text)
	}
	eval[bool](b, input+`.dispatchEvent(new Event('change', { bubbles: true }))`)
	b.await(`location.hash.includes('prefix=ord') && document.querySelector('main').innerText.includes('No task matches')`)
	eval[bool](b, `(location.hash = '#/tasks', true)`)
	b.await(input + `.value === ''`)
	const search = `document.querySelector('main [data-search]')`
	for _, c := range [][2]string{{"tenant=acme", `location.hash.includes('label=tenant')`}, {"", `!location.hash.includes('label')`}} {
		eval[bool](b, fmt.Sprintf(`(%[1]s.focus(), %[1]s.value = %[2]q, %[1]s.dispatchEvent(new Event('input', { bubbles: true })))`, search, c[0]))
		b.await(c[1])
	}
	eval[bool](b, `(location.hash = '#/tasks?contains=first', true)`) // while the user is in the input
	b.await(search + `.value === 'first'`)
}
