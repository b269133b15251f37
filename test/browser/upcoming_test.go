package browser

import (
	"strings"
	"testing"
	"time"
)

// The API selects tasks by the due time of the first attempt, and the list of Upcoming
// shows attempts by their own time.
func TestActionsOfUpcomingNameTheTasksThatTheyChange(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	receiver := newReceiver(t)
	s.must("POST", "/v1/tasks", object{"name": "failed", "delay": "0s", "retry": object{"min_backoff": "30m", "max_backoff": "30m"}, "http": object{"url": receiver + "/fail"}}, nil)
	s.must("POST", "/v1/tasks", object{"name": "first", "delay": "30m", "http": object{"url": receiver + "/ok"}}, nil)
	at := func(d time.Duration) string {
		return escape(time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	selected := "#/upcoming?from=" + at(time.Minute) + "&to=" + at(55*time.Minute)
	const button = `[...document.querySelectorAll('main button')].some((e) => e.textContent === 'Cancel these tasks')`

	b := open(t, s, s.token, viewports[0], selected)
	b.await(`['failed', 'first'].every((name) => document.querySelector('main tbody a[href*="' + name + '"]'))`)
	b.await(`document.querySelector('main').textContent.includes('Attempts after a failure, and tasks that schedules will create, are in the list below, but not among those tasks.')`)
	b.click("main", "Cancel these tasks")
	b.await(`document.querySelector('dialog')?.textContent.includes('1 task matches')`)
	if command := eval[string](b, `document.querySelector('dialog .command code').textContent`); !strings.Contains(command, "--state=scheduled") || strings.Contains(command, "undefined") {
		t.Errorf("the command is %s", command)
	}

	b = open(t, s, s.token, viewports[0], selected+"&retries=1")
	b.await(`document.querySelector('main tbody a[href*="failed"]') !== null`)
	if eval[bool](b, button) {
		t.Error("the page offers to cancel the attempts after a failure, but would cancel other tasks")
	}
}

// An hour of the next day leads to the tasks and instants in it.
func TestAnHourOfUpcomingShowsItsTasksAndInstants(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.must("POST", "/v1/tasks", object{"name": "later", "delay": "3h", "http": object{"url": "http://127.0.0.1:1/"}}, nil)
	s.must("PUT", "/v1/schedules/each", object{"cron": "59 * * * *", "task": object{"http": object{"url": "http://127.0.0.1:1/"}}}, nil)
	s.must("POST", "/v1/queues/default/pause", object{}, nil)
	b := open(t, s, s.token, viewports[0], "#/upcoming")
	const row = `[...document.querySelectorAll('main tr')].find((e) => e.textContent.includes('1 task in default held: pause, 1 each in') && e.querySelector('a[href*="from="]'))`
	b.await(row + ` !== undefined`)
	eval[bool](b, `(`+row+`.querySelector('a[href*="from="]').click(), true)`)
	b.await(`document.querySelector('main').textContent.includes('The selected time')`)
	b.await(`['task/later', 'schedules/each'].every((at) => document.querySelector('main tbody a[href*="' + at + '"]'))`)
	eval[bool](b, `(location.hash = '#/schedules/each', true)`)
	b.await(`document.querySelector('main').innerText.includes('is paused: the next instant creates a task, which waits for the end of the pause.')`)
}
