package browser

import (
	"fmt"
	"testing"
	"time"
)

// An operator on call sees overdue tasks of all namespaces, and a click leads to the
// task in its namespace.
func TestALinkLeadsToTheRecordInItsNamespace(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.must("PUT", "/v1/namespaces/shop", object{}, nil)
	shop := s.newToken("write", "shop")
	receiver := newReceiver(t)
	s.call(shop, "POST", "/v1/tasks", object{"name": "order-7", "delay": "0s", "retry": object{"max_attempts": 1}, "http": object{"url": receiver + "/fail"}}, nil)
	b := open(t, s, s.token, viewports[0], "#/now")
	b.click("main", "shop / order-7")
	b.await(`document.querySelector('h1')?.textContent === 'order-7' && document.body.innerText.includes('attempts exhausted')`)
	if got := eval[string](b, `location.hash`); got != "#/task/order-7?namespace=shop" {
		t.Errorf("the address %q does not name the namespace, so others cannot open it", got)
	}
	again := open(t, s, s.token, viewports[0], eval[string](b, `location.hash`))
	again.await(`document.querySelector('h1')?.textContent === 'order-7' && document.body.innerText.includes('attempts exhausted')`)
	again.expect("status of 404") // before the namespace is selected
	b.expect("status of 404")
}

// An operator closes the dialog of an action while the action runs, and selects
// a namespace with tasks of the same names.
func TestAnActionOnSelectedTasksStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.must("PUT", "/v1/namespaces/shop", object{}, nil)
	shop := s.newToken("write", "shop")
	const tasks = 5
	for i := range tasks {
		spec := object{"name": fmt.Sprintf("order-%d", i), "delay": "1h", "http": object{"url": "http://127.0.0.1:1/"}}
		s.must("POST", "/v1/tasks", spec, nil)
		s.call(shop, "POST", "/v1/tasks", spec, nil)
	}
	b := open(t, s, s.token, viewports[0], "#/tasks")
	b.await(fmt.Sprintf(`document.querySelectorAll('tbody tr').length === %d`, tasks))
	// Each cancel takes a while.
	const delay = 300 * time.Millisecond
	eval[bool](b, fmt.Sprintf(`(() => {
		const real = window.fetch
		window.fetch = async (url, options) => {
			if (options?.method === 'DELETE') {
				window.cancels = (window.cancels ?? 0) + 1
				await new Promise((r) => setTimeout(r, %d))
			}
			return real(url, options)
		}
		document.querySelector('input[aria-label="Select all rows"]').click()
		return true
	})()`, delay.Milliseconds()))
	b.click(".panel", "Cancel")
	b.click("dialog", fmt.Sprintf("Cancel %d tasks", tasks))
	b.await(`window.cancels > 0`)
	b.click("dialog", "Close")
	b.await(`document.querySelector('dialog[open]') === null`)
	eval[bool](b, `(() => {
		const select = [...document.querySelectorAll('select')].find((e) => [...e.options].some((o) => o.value === 'shop'))
		select.value = 'shop'
		return select.dispatchEvent(new Event('change', { bubbles: true }))
	})()`)
	time.Sleep((tasks + 1) * delay) // no event to wait for: the other cancels must not come
	var list struct {
		Tasks []struct{ Name, State string }
	}
	s.call(shop, "GET", "/v1/tasks", nil, &list)
	if len(list.Tasks) != tasks {
		t.Errorf("the other namespace has %d tasks, want %d", len(list.Tasks), tasks)
	}
	for _, task := range list.Tasks {
		if task.State != "scheduled" {
			t.Errorf("%s of the other namespace is %s", task.Name, task.State)
		}
	}
}
