package foliot

import (
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// Stored returns a task as the store has it.
func Stored(t *testing.T, n *Node, name string) *task.Task {
	t.Helper()
	got, err := n.core.Store.Get(t.Context(), n.key(name))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// StoredSchedule is Stored for a schedule.
func StoredSchedule(t *testing.T, n *Node, name string) *task.Task {
	t.Helper()
	got, err := n.core.Store.Get(t.Context(), task.ScheduleKey(n.options.Namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
