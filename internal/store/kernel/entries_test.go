package kernel

import (
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// Each write of a record asks for the entries before and after it.
func TestEntriesOfARecordAreNotAllocated(t *testing.T) {
	ended := &task.Task{State: task.Dead, FinishedAt: 1, KeepUntil: 2}
	var sum task.Millis
	if n := testing.AllocsPerRun(100, func() {
		for _, e := range EntriesOf(ended) {
			sum += e.At
		}
	}); n > 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
}
