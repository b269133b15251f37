package foliot

import (
	"log/slog"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// StoredSchedule returns a schedule as the store has it.
func StoredSchedule(t *testing.T, n *Node, name string) *task.Task {
	t.Helper()
	got, err := n.core.Store.Get(t.Context(), task.ScheduleKey(n.options.Namespace, name))
	fatal.If(t, err)
	return got
}

// StoredRequest returns the request of a task as the store has it.
func StoredRequest(t *testing.T, n *Node, name string) task.Request {
	t.Helper()
	got, err := n.core.Store.Get(t.Context(), n.key(name))
	fatal.If(t, err)
	return got.Request
}

// Known returns the number of tasks that n knows to be due now or soon.
func Known(n *Node) int { return n.core.Stats().Known }

// WaitingCallbacks adds n calls while a call of OnHang blocks, and returns how
// many of them wait.
func WaitingCallbacks(log *slog.Logger, n int) int {
	c := newCallbacks(log)
	c.current.Store("OnHang")
	for range n {
		c.add("OnDead", func() {})
	}
	return len(c.waiting)
}

// StoredPriority returns the priority of the task of an item, as the store has
// it.
func StoredPriority(i Item) task.Priority { return i.item.Priority }

// Translate is translate.
var Translate = translate
