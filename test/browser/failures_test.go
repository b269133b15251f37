package browser

import (
	"fmt"
	"testing"
)

// mainText is the text of the page. It includes parts that are not on the
// screen.
const mainText = `document.querySelector('main').textContent`

// fail makes tasks that fail once.
func (s *server) fail(receiver string, names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.must("POST", "/v1/tasks", object{"name": name, "delay": "0s", "retry": object{"max_attempts": 1}, "http": object{"url": receiver + "/fail"}}, nil)
		s.must("GET", "/v1/tasks/"+name+"?wait=20s", nil, nil)
	}
}

func TestAProblemLinksToItsTextOnTheServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, s, "", viewports[0], "#/tasks?cursor=none")
	b.expect("400 (Bad Request)")
	b.await(`document.querySelector('.note.bad a')?.href.endsWith('/docs/problems#bad_cursor') === true`)
	if !eval[bool](b, `fetch(document.querySelector('.note.bad a').href).then(async (reply) => reply.ok && (await reply.text()).includes('<b id="bad_cursor">'))`) {
		t.Error("the server has no text about the problem")
	}
}

// A list of the latest attempts has no failure after enough deliveries.
func TestTheFirstPageShowsAFailureBeforeManyDeliveries(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	receiver := newReceiver(t)
	s.fail(receiver, "failure")
	const deliveries = 320
	tasks := make([]object, deliveries)
	for i := range tasks {
		tasks[i] = object{"name": fmt.Sprintf("delivery-%d", i), "delay": "0s", "http": object{"url": receiver + "/ok"}}
	}
	s.must("POST", "/v1/tasks/batch", object{"tasks": tasks}, nil)
	for i := range tasks {
		s.must("GET", fmt.Sprintf("/v1/tasks/delivery-%d?wait=20s", i), nil, nil)
	}
	b := open(t, s, s.token, viewports[0], "#/now")
	b.await(mainText + `.includes('1 recent attempt failed')`)
	if eval[bool](b, mainText+`.includes('No destination fails')`) {
		t.Error("the page says that no destination fails")
	}
}

// A server keeps at most 100 deliveries and 100 other attempts of a namespace in a
// second, so one that it did not keep can be between two others.
func TestNoAttemptIsCalledTheLastIfTheServerDidNotKeepAll(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.fail(newReceiver(t), "failure-1", "failure-2")
	b := open(t, s, s.token, viewports[0], "#/server")
	for _, since := range []int{2000, 2100} { // the year; after it no attempt is missing
		eval[bool](b, fmt.Sprintf(`(() => {
			window.realFetch ??= window.fetch
			window.fetch = async (url, options) => {
				const reply = await window.realFetch(url, options)
				if (!String(url).includes('/v1/attempts')) return reply
				return new Response(JSON.stringify({ ...(await reply.json()), since: '%d-01-01T00:00:00.000Z' }), reply)
			}
			return true
		})()`, since))
		for _, page := range []struct{ route, all, some string }{
			{"now", "2 failures in a row", "2 recent attempts failed"},
			{"destinations", "Failures in a row", "Recent failures"},
			{"queues", "The last attempt failed", "A recent attempt failed"},
			{"queues/default", "The last 2 attempts", "2 recent attempts"},
			{"queues/default", "Share", "There were more"},
		} {
			want, not := page.all, page.some
			if since == 2100 {
				want, not = not, want
			}
			eval[bool](b, fmt.Sprintf(`(location.hash = '#/%s', true)`, page.route))
			b.await(fmt.Sprintf(mainText+`.includes(%q)`, want))
			if eval[bool](b, fmt.Sprintf(mainText+`.includes(%q)`, not)) {
				t.Errorf("complete after %d: %s says %q", since, page.route, not)
			}
		}
		eval[bool](b, `(location.hash = '#/server', true)`)
		b.await(`document.querySelector('h1')?.textContent === 'Server'`)
	}
}
