package pebblestore

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// day returns the bounds of the minutes of the first day.
func day() (bounds []task.Millis) {
	for i := range 24 * 60 {
		bounds = append(bounds, benchStart+task.Millis(i+1)*60_000)
	}
	return bounds
}

// countDue counts waiting tasks. It returns their number, and the time until
// which they were counted.
func countDue(b testing.TB, s *Store, budget int) (n int, exact task.Millis) {
	b.Helper()
	exact, err := s.Due(b.Context(), store.DueRead{Bounds: day(), Budget: budget}, func(_ task.Lane, _, tasks int) { n += tasks })
	fatal.If(b, err)
	return n, exact
}

// inLanes returns changes that create tasks in so many lanes.
func inLanes(first int64, n, lanes int) []task.Change {
	changes := creates(first, n, func(id int64) task.Millis { return benchStart + task.Millis(id*7919%86_400_000) })
	for i := range changes {
		c := changes[i].(task.Create)
		c.Spec.Request.URL = fmt.Sprintf("https://h%d.example/hook", (int(first)+i)%lanes)
		if err := c.Spec.Validate(benchStart); err != nil {
			panic(err)
		}
		changes[i] = c
	}
	return changes
}

// One lane has most tasks, and another many early ones: the budget is for both.
func TestABudgetIsSharedByTheLanes(t *testing.T) {
	s, err := Open("data", Config{FS: vfs.NewMem()})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	const lanes, each = 20, 500
	for i := range lanes {
		mustApply(t, s, inLanes(int64(i*each), each, 1+i))
	}
	const budget = 4000
	n, exact := countDue(t, s, budget)
	if n < budget/2 || n > 2*budget || exact <= benchStart {
		t.Errorf("%d tasks were counted, all until %v", n, exact.Sub(benchStart))
	}
	if n, exact := countDue(t, s, 100*lanes*each); n != lanes*each || exact != day()[24*60-1] {
		t.Errorf("%d tasks were counted, all until %v", n, exact.Sub(benchStart))
	}
}
