package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// An action is one button of a page.
type action struct {
	Label string
	Call  string // such as POST v1/queues/{queue}/pause
	Right string // yes or no: whether the token may make the call, by the page
}

// The page enables actions by the scopes of the OpenAPI document, but the server decides
// about the call. Both must agree for every button.
func TestAnActionIsEnabledExactlyIfTheServerAllowsIt(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.seed(newReceiver(t))
	seen := map[string]bool{}
	for _, who := range []struct{ scope, namespace string }{{"read", "default"}, {"write", "default"}, {"admin", "default"}, {"admin", "*"}} {
		token := s.newToken(who.scope, who.namespace)
		b := open(t, s, token, viewports[0], "")
		for _, route := range routes {
			eval[bool](b, fmt.Sprintf(`(location.hash = '#/%s', true)`, route))
			b.ready()
			actions := eval[[]action](b, `[...document.querySelectorAll('[data-call]')].map((e) => ({ Label: e.textContent, Call: e.dataset.call, Right: e.dataset.right }))`)
			for i, a := range actions {
				seen[a.Call] = true
				b.press(i, a)
				if allowed := s.allows(token, a.Call); allowed != (a.Right == "yes") {
					t.Errorf("%s: scope %s in %s: %q (%s): the page says %s, the server's answer is %v", route, who.scope, who.namespace, a.Label, a.Call, a.Right, allowed)
				}
			}
			b.expect("status of 404")
		}
	}
	if len(seen) < 15 {
		t.Errorf("the pages have only these actions: %v", seen)
	}
}

// press clicks a button. An enabled button must open a dialog or another page. A
// disabled one must show the reason and open nothing.
func (b *tab) press(i int, a action) {
	b.t.Helper()
	before := eval[string](b, `location.hash`)
	got := eval[string](b, fmt.Sprintf(`(async () => {
		const button = document.querySelectorAll('[data-call]')[%d]
		if (!button) return 'gone'
		const until = async (holds) => {
			const end = performance.now() + 5000
			while (!holds() && performance.now() < end) await new Promise((r) => setTimeout(r, 20))
			return holds()
		}
		const dialog = () => document.querySelector('dialog[open]')
		const disabled = button.getAttribute('aria-disabled') === 'true', reason = button.title // as shown when it is clicked
		button.click()
		if (disabled) return (await until(() => document.querySelector('.toast.shown')?.textContent === reason)) && !dialog() ? '' : 'disabled, but it does not show the reason'
		if (!(await until(() => dialog() || location.hash !== %q))) return 'enabled, but nothing opens'
		if (!dialog()) return ''
		dialog().dispatchEvent(new Event('cancel', { cancelable: true }))
		return (await until(() => !dialog())) ? '' : 'its dialog does not close'
	})()`, i, before))
	if got != "" {
		b.t.Errorf("%s: %q: %s", before, a.Label, got)
	}
	if after := eval[string](b, `location.hash`); after != before {
		eval[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, before))
		b.ready()
	}
}

// allows reports whether a token has the right to make a call. The call is
// about a record that does not exist, so it changes nothing.
func (s *server) allows(token, call string) bool {
	method, path, _ := strings.Cut(call, " ")
	for _, name := range []string{"{name}", "{queue}", "{id}", "{node}"} {
		path = strings.ReplaceAll(path, name, "no-such-name")
	}
	return s.call(token, method, "/"+path, nil, nil) != http.StatusForbidden
}
