package foliot

import (
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// StoredSchedule returns a schedule as the store has it.
func StoredSchedule(t *testing.T, n *Node, name string) *task.Task {
	t.Helper()
	got, err := n.core.Store.Get(t.Context(), task.ScheduleKey(n.options.Namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Known returns the number of tasks that n knows to be due now or soon.
func Known(n *Node) int { return n.core.Stats().Known }
