package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// TestOnePeekReadsManyLanes: if there are as many hosts as tasks, they would
// wait for a Peek for every few lanes, each behind a sync of the store.
func TestOnePeekReadsManyLanes(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 100_000}, 1024)
	now := task.Millis(1_000_000)
	var heads []task.LaneHead
	for i := range 1000 {
		heads = append(heads, task.LaneHead{Lane: task.Lane{Destination: fmt.Sprint("host", i)}, Due: now})
	}
	pl.survey(now, heads)
	if n := len(pl.Reads(now)); n < 200 {
		t.Errorf("a Peek reads %d of 1000 lanes", n)
	}
}
