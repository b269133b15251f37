package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// No process of the test has a handler.
func TestATaskOfAKindShowsItsKindAndItsArguments(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	work := object{"kind": "close-order", "args": object{"order": 42}}
	s.must("PUT", "/v1/namespaces/default", object{"kinds": true}, nil)
	s.must("POST", "/v1/tasks", object{"name": "call-1", "delay": "0s", "queue": "calls", "work": work}, nil)
	s.must("PUT", "/v1/schedules/nightly", object{"every": "1h", "task": object{"work": work}}, nil)
	shows := func(text string) string {
		return fmt.Sprintf(`document.querySelector('main').innerText.includes(%q)`, text)
	}
	b := open(t, s, "", viewports[0], "#/tasks")
	visit := func(hash string) { b.await(fmt.Sprintf(`(location.hash = %q, true)`, hash)) }
	b.await(shows("kind close-order"))
	visit("#/upcoming")
	b.await(shows("kind close-order"))
	visit("#/queues/calls")
	b.await(shows("No process that owns the tasks has a handler for their kind."))
	visit("#/destinations/kind%2Fclose-order")
	b.await(shows("kind/close-order"))

	visit("#/task/call-1")
	b.await(shows("this process does not run tasks to kind/close-order"))
	b.click("main", "Copy as…")
	b.await(`document.querySelector('dialog .copied')?.textContent.match(/add --kind close-order .*'--args=…'/) != null`)
	b.click("dialog", "Close")
	b.click("main", "Edit")
	b.fill("Content of the arguments", `{"order": 9007199254740993}`) // no number of JavaScript
	b.click("dialog", "Save")
	b.await(`document.querySelector('dialog') === null`)
	var got struct {
		Work struct{ Args json.RawMessage }
	}
	if s.must("GET", "/v1/tasks/call-1", nil, &got); !strings.Contains(string(got.Work.Args), "9007199254740993") {
		t.Errorf("the arguments are %s", got.Work.Args)
	}

	visit("#/schedules/nightly")
	b.await(shows("close-order"))
	b.click("main", "Edit")
	b.click("dialog", "Show arguments")
	b.fill("Content of the arguments", `{"order": 8}`)
	b.await(`document.querySelector('dialog .command code')?.textContent.includes("--args")`)
	b.click("dialog", "Save")
	b.await(`document.querySelector('dialog') === null`)
	var schedule struct{ Task struct{ Work object } }
	if s.must("GET", "/v1/schedules/nightly", nil, &schedule); fmt.Sprint(schedule.Task.Work["args"]) != "map[order:8]" {
		t.Errorf("the arguments are %v", schedule.Task.Work)
	}
}
