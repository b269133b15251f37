package browser

import (
	"fmt"
	"testing"
)

// fill types a text into the field of the dialog with a label.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`(() => {
		const field = [...document.querySelectorAll('dialog label.field')].find((e) => e.firstChild.textContent === %q)?.querySelector('input, textarea')
		if (!field) return false
		field.value = %q
		return field.dispatchEvent(new Event('input', { bubbles: true }))
	})()`, label, text))
}

func TestAFormWithAnErrorShowsTheErrorAtItsFieldAndNoCommand(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.must("POST", "/v1/tasks", object{"name": "order-1", "delay": "1h", "http": object{"url": "http://127.0.0.1:1/"}}, nil)
	const command, noCommand = `document.querySelector('dialog .command') !== null`, `document.querySelector('dialog .command') === null`
	atField := func(label, text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('dialog label.field')].find((e) => e.firstChild.textContent === %q)?.querySelector('[role=alert]')?.textContent.includes(%q)`, label, text)
	}
	b := open(t, s, "", viewports[0], "#/queues")
	b.click("main", "Create queue settings")
	b.await(`document.querySelector('dialog') !== null && ` + noCommand)
	b.fill("Name of the queue", "mail")
	b.await(command)
	b.fill("Rate", "many")
	b.await(noCommand + ` && ` + atField("Rate", "must be a number"))
	b.fill("Rate", "5")
	b.fill("Timeout", "2h") // only the server knows the largest timeout
	b.await(command)
	b.click("dialog", "Create queue settings")
	b.await(noCommand + ` && ` + atField("Timeout", "1h"))
	b.expect("status of 4")
	b = open(t, s, "", viewports[0], "#/task/order-1")
	b.click("main", "Move")
	b.await(command)
	b.fill("Move by", "1 hour")
	b.await(noCommand + ` && ` + atField("Move by", "must be a duration"))
	b.click("dialog", "Close")
	b.click("main", "Edit")
	b.fill("Max age", "soon")
	b.await(atField("Max age", "must be a duration"))
	b.fill("Max age", "48h")
	b.click("dialog", "Save")
	b.await(`document.querySelector('dialog') === null && document.body.innerText.includes('48h')`)
}

func TestANewTaskShowsItsTimeBeforeItIsMade(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, s, "", viewports[1], "#/tasks")
	b.click("main", "New task")
	b.fill("URL", "http://127.0.0.1:1/")
	for _, delay := range []string{"1..5h", "99999999d", "45m"} {
		b.fill("Delay", delay)
	}
	b.await(`document.querySelector('dialog .command') !== null && document.querySelector('dialog').textContent.includes('Due in 45 min')`)
	for _, violation := range b.violations() {
		t.Errorf("accessibility: %s", violation)
	}
	b.fill("Headers, one per line", "X-A: 1")
	b.fill("Kind", "close-order")
	b.await(`!document.querySelector('dialog .command code').textContent.includes('--header')`)
	b.fill("Kind", "")
	b.fill("Name", "order-2")
	b.click("dialog", "New task")
	b.await(`document.querySelector('h1')?.textContent === 'order-2'`)
}
