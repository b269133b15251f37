package browser

import (
	"fmt"
	"strings"
	"testing"
)

// Without the header Foliot-Namespace, the API gives an operator the records of all
// namespaces.
func TestAnOperatorWithoutASelectionSeesTheDefaultNamespace(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.must("PUT", "/v1/namespaces/shop", object{}, nil)
	shop := s.newToken("admin", "shop")
	as := func(token, method, path string, body any) {
		t.Helper()
		if status := s.call(token, method, path, body, nil); status < 200 || status > 299 {
			t.Fatalf("%s %s: status %d", method, path, status)
		}
	}
	id := func(token string) string {
		var me struct{ Token struct{ ID string } }
		s.call(token, "GET", "/v1/whoami", nil, &me)
		return me.Token.ID
	}
	target := object{"url": "http://127.0.0.1:1/"}
	for _, token := range []string{s.token, shop} {
		as(token, "POST", "/v1/tasks", object{"name": "order", "delay": "30m", "queue": "mail", "http": target})
		as(token, "POST", "/v1/queues/mail/pause", object{})
	}
	as(shop, "PATCH", "/v1/tasks/order", object{"priority": "low"})
	as(shop, "POST", "/v1/tasks", object{"name": "elsewhere", "delay": "30m", "http": target})
	as(shop, "PUT", "/v1/queues/slow", object{"rate": 0.001})
	for i := range 3 {
		as(shop, "POST", "/v1/tasks", object{"name": fmt.Sprint("slow-", i), "delay": "0s", "queue": "slow", "http": target})
	}
	b := open(t, s, s.token, viewports[0], "#/queues")
	for _, page := range []struct{ route, want, not string }{
		{"queues/mail", "by token:" + id(s.token), id(shop)},
		{"task/order", "token:" + id(s.token), "task.patch"},
		{"upcoming", "order", "elsewhere"},
		{"now", "No task of the namespace default is overdue.", "1overdue"},
		{"now", "shop / slow", "No task is overdue"}, // leads to the other namespace
		{"server?tab=audit", "queue.put", "nothing"},
		{"server?tab=tokens", id(shop), "nothing"},
	} {
		eval[bool](b, fmt.Sprintf(`(location.hash = '#/%s', true)`, page.route))
		b.await(fmt.Sprintf(`document.querySelector('main').textContent.includes(%q)`, page.want))
		if text := eval[string](b, `document.querySelector('main').textContent`); strings.Contains(text, page.not) {
			t.Errorf("%s shows %q:\n%s", page.route, page.not, text)
		}
	}
	eval[bool](b, `(location.hash = '#/now', true)`)
	b.await(`[...document.querySelectorAll('.figure')].some((e) => e.textContent === '0overdue')`)
	b.await(`[...document.querySelectorAll('.figure span')].some((e) => e.textContent === 'attempts running (server)' || e.textContent.startsWith('attempts running (server, limit'))`)
}

// A server without tokens lets each caller select a namespace.
func TestACommandNamesTheSelectedNamespace(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.must("PUT", "/v1/namespaces/shop", object{}, nil)
	for route, want := range map[string]string{
		"tasks?namespace=shop":    "--namespace shop",
		"schedules":               "--namespace default",
		"tasks?namespace=default": "--namespace default",
	} {
		b := open(t, s, "", viewports[0], "#/"+route)
		b.await(fmt.Sprintf(`[...document.querySelectorAll('.command code')].some((e) => e.textContent.includes(%q))`, want))
	}
}
