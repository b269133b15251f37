package browser

import (
	"testing"
)

// An operator on call sees overdue tasks of all namespaces, and a click leads to the
// task in its namespace.
func TestALinkLeadsToTheRecordInItsNamespace(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.token = s.newToken("admin", "*")
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
	again.dropExpected("status of 404") // before the namespace is selected
	b.dropExpected("status of 404")
}
