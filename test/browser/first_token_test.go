package browser

import (
	"strings"
	"testing"
)

// A server without tokens accepts all requests. An operator creates the first token on
// the page, and logs in with it. Then the server refuses requests without a token.
func TestTheFirstTokenIsCreatedOnThePage(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, s, "", viewports[0], "#/server")
	b.ready()
	b.click("main", "Create the first token")
	b.click("dialog", "Create the first token")
	b.await(`[...document.querySelectorAll('dialog code, dialog pre, dialog input')].some((e) => (e.value ?? e.textContent).startsWith('foliot_'))`)
	if status := s.call("", "GET", "/v1/tasks", nil, nil); status != 401 {
		t.Errorf("the server replies %d to a request without a token", status)
	}
	b.click("dialog", "Log in with it")
	b.await(`document.querySelector('.who')?.textContent.startsWith('operator, admin') === true`)
	if text := b.text(); strings.Contains(text, "This server has no tokens") {
		t.Error("the page says that the server has no tokens")
	}
	b.expect("status of 401") // of the requests before the login
}
