package kernel

import (
	"testing"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// A medium compares Earliest with its own clock, so it must be the time from which the
// transition succeeds.
func TestEarliestIsTheTimeFromWhichATransitionSucceeds(t *testing.T) {
	const at = 1_800_000_000_000
	waits := &task.Task{Name: "a", Namespace: "n", State: task.Scheduled, Due: at}
	runs := &task.Task{Name: "a", Namespace: "n", State: task.Running, Lease: &task.Lease{Token: "1", Until: at}}
	ended := &task.Task{Name: "a", Namespace: "n", State: task.Delivered, KeepUntil: at}
	for _, c := range []struct {
		old *task.Task
		how task.Transition
		of  store.Kind
	}{
		{waits, task.Claim{Lane: waits.Lane(), Token: "1", Until: at + 1}, store.Claim},
		{runs, Reap{}, store.Reaping},
		{ended, Remove{}, store.Removal},
	} {
		from := Earliest(c.of, c.old, at)
		if _, err := c.how.Apply(from-1, c.old, task.Facts{}); err == nil {
			t.Errorf("kind %d succeeds before %d", c.of, from)
		}
		if _, err := c.how.Apply(from, c.old, task.Facts{}); err != nil {
			t.Errorf("kind %d at %d: %v", c.of, from, err)
		}
	}
}
