package browser

import (
	"strings"
	"testing"
)

// An operator closes an open server from its page, and works on with the token that
// the page showed.
func TestAnOpenServerIsClosedFromItsPage(t *testing.T) {
	s := newServer(t)
	b := open(t, s, "", looks[0], "#/server")
	b.ready()
	b.click("main", "Create the first token")
	b.click("dialog", "Create the first token")
	b.await(`[...document.querySelectorAll('dialog code, dialog pre, dialog input')].some((e) => (e.value ?? e.textContent).startsWith('foliot_'))`)
	if status := s.call("", "GET", "/v1/tasks", nil, nil); status != 401 {
		t.Errorf("the server still replies %d to a request without a token", status)
	}
	b.click("dialog", "Log in with it")
	b.await(`document.querySelector('.who')?.textContent.startsWith('operator, admin') === true`)
	if text := b.text(); strings.Contains(text, "This server has no tokens") {
		t.Error("the page says that the server is open")
	}
	b.forget("status of 401") // of the requests before the login
}
