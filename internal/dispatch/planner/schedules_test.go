package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// TestAWaitingLaneIsNotForgotten, though its last schedule was paused
// while the lane waited.
func TestAWaitingLaneIsNotForgotten(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Slots: 1})
	e := task.Entry{Name: "@a", Lane: task.ScheduleLane("default"), Due: 1000}
	pl.Hint(1000, e)
	pl.Refresh(1000)
	l := pl.lanes[e.Lane]
	e.Due = task.Never
	pl.Hint(1000, e)
	pl.check(1000)
	if pl.lanes[e.Lane] != l {
		t.Error("it was forgotten, and stands in line")
	}
	if fires := pl.TakeFires(1000, fireBatch); len(fires) > 0 {
		t.Errorf("fired %v", fires)
	}
	pl.check(1000)
	if len(pl.lanes) > 0 || pl.fires() || pl.window.total != 0 {
		t.Errorf("%d lanes, %d schedules are left", len(pl.lanes), pl.window.total)
	}
}

func TestEndedOccurrencesDoNotDelayDueInstants(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Slots: 1})
	for i := range 10 * fireBatch {
		pl.Hint(1000, task.Entry{Name: fmt.Sprintf("@%04d", i), Lane: task.ScheduleLane("default"), Hint: task.OccurrenceEnded})
	}
	pl.Hint(1000, task.Entry{Name: "@due", Lane: task.ScheduleLane("default"), Due: 1000})
	fires := pl.TakeFires(1000, fireBatch)
	if !slices.ContainsFunc(fires, func(f task.Fire) bool { return f.Key.Name == "@due" }) {
		t.Errorf("%d were fired, and not the one that is due", len(fires))
	}
}
