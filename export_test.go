package foliot

import (
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// ScheduleVersion returns how often a schedule was written.
func ScheduleVersion(t *testing.T, n *Node, name string) uint64 {
	t.Helper()
	s, err := n.core.Store.Get(t.Context(), task.ScheduleKey(n.options.Namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	return s.Version
}
