package browser

import (
	"fmt"
	"strings"
	"testing"
)

// hostile has texts that become code or break the layout if a page does not
// treat them as text.
var hostile = []string{
	`<img src=x onerror="window.attacked=1">`,
	`<script>window.attacked=1</script>`,
	`"><svg onload=window.attacked=1>`,
	`javascript:window.attacked=1`,
	`{{constructor.constructor('window.attacked=1')()}}`,
	`${window.attacked=1}`,
	"\u202egnp.exe\u202c \u200b\u0000\ufeff",
	strings.Repeat("W", 200),
	`'; DROP TABLE tasks; --`,
	`</title></style></textarea><script>window.attacked=1</script>`,
}

func TestHostileTextIsShownAsText(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	receiver := newReceiver(t)
	for i, text := range hostile {
		name := fmt.Sprintf("hostile-%d", i)
		text = strings.ReplaceAll(text, "\x00", "")
		s.must("PUT", "/v1/tasks/"+name, object{
			"delay": "0s", "labels": object{"note": text}, "retry": object{"max_attempts": 1},
			"http": object{"url": receiver + "/fail?q=" + escape(text), "headers": object{"X-Note": header(text)}, "body": object{"text": text}},
		}, nil)
		s.must("PUT", "/v1/schedules/"+name, object{"cron": "@daily", "task": object{"labels": object{"note": text}, "http": object{"url": receiver + "/ok", "headers": object{"X-Note": header(text)}, "body": text}}}, nil)
		s.must("POST", "/v1/tokens", object{"scope": "read", "namespace": "default", "label": text}, nil)
	}
	for _, v := range viewports {
		b := open(t, s, s.token, v, "")
		for _, route := range append(routes, "task/hostile-0", "task/hostile-7", "schedules/hostile-0", "server?tab=tokens", "server?tab=audit", "tasks?prefix="+escape(hostile[0]), "tasks?label=note%3D"+escape(hostile[0]), "unknown/"+escape(hostile[0])) {
			eval[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, "#/"+route))
			b.await(`document.querySelector('main') !== null && document.querySelector('.loading') === null`)
			// Show everything that is hidden until a click.
			eval[bool](b, `([...document.querySelectorAll('button.masked, summary')].forEach((e) => e.click()), true)`)
			if eval[bool](b, `window.attacked !== undefined || document.querySelector('main img, main script, main [onload], main [onerror], main a[href^="javascript:" i]') !== null`) {
				t.Errorf("%s: hostile text became a part of the page", route)
			}
			for _, e := range b.overflow() {
				t.Errorf("%s is wider than the window: %s", route, e)
			}
			b.expect("status of 404", "status of 400") // of unknown names and hostile filters
		}
	}
	b := open(t, s, s.token, viewports[0], "#/task/hostile-0")
	b.ready()
	if got := b.text(); !strings.Contains(got, hostile[0]) {
		t.Errorf("the label %q is not shown as it is:\n%s", hostile[0], got)
	}
}

// escape returns text for a query.
func escape(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}

// header returns the part of text that a header can have.
func header(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
}
