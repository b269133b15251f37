package browser

import (
	"fmt"
	"testing"
)

// figuresByName is an expression for the figures of Now by their names.
const figuresByName = `Object.fromEntries([...document.querySelectorAll('.figure')].map((e) => [e.querySelector('span').textContent, e.querySelector('b').textContent]))`

func TestAFigureIsNotZeroWhileItIsUnknown(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	b := open(t, s, s.token, viewports[0], "#/server")
	b.await(`document.querySelector('h1')?.textContent === 'Server'`)
	eval[bool](b, `(() => {
		const real = window.fetch
		window.fetch = (url, options) => /v1\/(due|queues|history)/.test(url) ? new Promise(() => {}) : real(url, options)
		location.hash = '#/now'
		return true
	})()`)
	for _, name := range []string{"overdue", "dead", "attempts failed in the last hour"} {
		b.await(fmt.Sprintf(`(%s)[%q] === '…'`, figuresByName, name))
	}
}

// The page reads only the first queues of many.
func TestAnIncompleteNumberOfDeadTasksIsNamedSo(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.fail(newReceiver(t), "dead")
	b := open(t, s, s.token, viewports[0], "#/server")
	b.await(`document.querySelector('h1')?.textContent === 'Server'`)
	eval[bool](b, `(() => {
		const real = window.fetch
		window.fetch = async (url, options) => {
			const path = String(url)
			if (path.includes('order=ended')) return new Response(JSON.stringify({ ...(await (await real(url, options)).json()), next_cursor: 'more' }))
			if (!path.includes('/v1/queues?')) return real(url, options)
			const reply = await real(path.replace(/[?&]cursor=[^&]*/, ''), options)
			await new Promise((r) => setTimeout(r, 800))
			return new Response(JSON.stringify({ ...(await reply.json()), next_cursor: 'more' }))
		}
		location.hash = '#/now'
		return true
	})()`)
	b.await(fmt.Sprintf(`(%s)['dead']?.startsWith('at least ')`, figuresByName))
	eval[bool](b, `(location.hash = '#/dead', true)`)
	b.await(`document.querySelector('main').textContent.includes('dead task of at least ')`)
}
