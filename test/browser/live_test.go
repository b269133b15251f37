package browser

import (
	"strings"
	"testing"
)

func TestLiveDataContinuesAfterARestartOfTheServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, s, "", viewports[0], "#/now")
	b.await(`document.querySelector('.figures') !== null`)
	s.restart()
	s.must("POST", "/v1/tasks", object{"name": "after-restart", "delay": "1h", "http": object{"url": "http://127.0.0.1:9/"}}, nil)
	b.await(`document.querySelector('.wheel .large')?.textContent === '1' && document.querySelector('.figures') !== null && !document.body.innerText.includes('Waiting for live data')`)
	b.expect("ERR_", "status of 50") // while the server was down
}

func TestARevokedTokenEndsTheSession(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	var token struct{ ID, Token string }
	s.must("POST", "/v1/tokens", object{"scope": "read", "namespace": "default"}, &token)
	b := open(t, s, token.Token, viewports[0], "#/now")
	b.await(`document.querySelector('.figures') !== null`)
	s.must("DELETE", "/v1/tokens/"+token.ID, nil, nil)
	b.await(`document.querySelector('input[name=token]') !== null`)
	if eval[bool](b, `sessionStorage.getItem('foliot.token') !== null`) {
		t.Error("the page keeps a token that was revoked")
	}
	b.expect("status of 401")
}

func TestALoginNeedsAValidToken(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	b := open(t, s, "", viewports[0], "#/tasks")
	enter := func(token string) {
		b.await(`document.querySelector('input[name=token]') !== null`)
		eval[bool](b, `(() => { const i = document.querySelector('input[name=token]'); i.value = '`+token+`'; i.dispatchEvent(new Event('input', { bubbles: true })); return true })()`)
		b.click("form", "Log in")
	}
	enter("foliot_" + strings.Repeat("x", 48))
	b.await(`document.querySelector('[role=alert]') !== null`)
	enter(s.token)
	b.await(`document.querySelector('h1')?.textContent === 'Tasks'`)
	b.expect("status of 401")
}
