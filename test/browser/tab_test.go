package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

// viewport is the width of the window, with the theme of the page.
type viewport struct {
	theme string
	width int64
}

var viewports = []viewport{{"dark", 1400}, {"light", 360}}

// tab is one tab of the browser. The test fails at its end if the page had an error
// or sent a request to another host.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close context.CancelFunc
	proxy string // the URL of the server as the browser knows it

	mu       sync.Mutex
	problems []string
	expected []string // until the next check
}

// stepTimeout is the time limit of a step in the browser.
const stepTimeout = 20 * time.Second

// open opens the page of a server in a new tab. token "" means no token. route is
// the part of the address after the path, such as #/tasks.
func open(t *testing.T, s *server, token string, v viewport, route string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chrome)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, close: cancel, proxy: s.proxy}
	b.do(chromedp.EmulateViewport(v.width, 900))
	noError(t, chromedp.Listen(ctx, b.listen))
	send(b, log.Enable, cdp.Empty{})
	send(b, network.Enable, network.EnableParams{})
	send(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	prepare := fmt.Sprintf("localStorage.setItem('foliot.theme', %q); if (%q) sessionStorage.setItem('foliot.token', %[2]q)", v.theme, token)
	send(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: prepare})
	b.do(chromedp.Navigate(s.proxy+"/ui/"+route), chromedp.WaitVisible(chromedp.CSS("main")))
	t.Cleanup(b.check)
	return b
}

// listen collects the errors of the page.
func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.add("exception", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.add("console", e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.add("log", e.Entry)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.proxy+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
			b.add("request to another host", u)
		}
	}
}

func (b *tab) add(kind string, of any) {
	text, _ := json.Marshal(of)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, kind+": "+string(text))
}

// expect names problems that are no failure in the next check. The browser can
// report them after the step that causes them.
func (b *tab) expect(expected ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, expected...)
}

// check fails the test if the page had a problem.
func (b *tab) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		if !slices.ContainsFunc(b.expected, func(e string) bool { return strings.Contains(p, e) }) {
			b.t.Errorf("%s", p)
		}
	}
	b.problems, b.expected = nil, nil
}

// do runs steps. The first step of a tab must not have a time limit: it starts
// the tab, which ends with the context of that step.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	noError(b.t, chromedp.Do(b.ctx, steps...))
}

// send sends a command to the browser, and returns the result.
func send[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	noError(b.t, err)
	return result
}

// eval runs JavaScript in the page and returns its result.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// await waits until JavaScript returns true.
func (b *tab) await(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](condition)); err != nil {
		b.t.Fatalf("%s: %v; the page shows:\n%s", condition, err, b.text())
	}
}

// ready waits until the page has loaded all of its data.
func (b *tab) ready() {
	b.t.Helper()
	b.await(`document.querySelector('h1') !== null && document.querySelector('.loading') === null`)
}

// text returns the text that a user sees.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// click clicks the button or link with exactly this text in the part of the page
// that a selector names.
func (b *tab) click(within, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`(() => { const el = [...document.querySelectorAll(%[1]q + ' button, ' + %[1]q + ' a')].find((e) => e.textContent.trim() === %[2]q); if (!el || el.disabled) return false; el.click(); return true })()`, within, text))
}

// violations returns the violations of the rules for accessible pages.
func (b *tab) violations() []string {
	b.t.Helper()
	// The policy forbids the page to load it, so the driver evaluates it.
	eval[chromedp.Void](b, axe)
	return eval[[]string](b, `axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map((n) => n.html + ' ' + n.failureSummary).join(' | ')))`)
}

// overflow returns the elements that are wider than the window.
func (b *tab) overflow() []string {
	b.t.Helper()
	return eval[[]string](b, `(() => {
		const w = document.documentElement.clientWidth
		if (document.documentElement.scrollWidth <= w) return []
		return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > w + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 160))
	})()`)
}
