package task

import (
	"errors"
	"fmt"
	"testing"
)

// cell is the outcome of a call on a task in one state: an effect and the next
// state, or an error.
type cell struct {
	effect Effect
	state  State
	err    error
	code   string // of a *StateError
}

var (
	exists      = cell{err: ErrExists}
	notFound    = cell{err: ErrNotFound}
	made        = cell{effect: Created, state: Scheduled}
	moved       = cell{effect: Updated, state: Scheduled}
	noted       = cell{effect: Accepted, state: Running}
	isCancelled = cell{effect: Updated, state: Cancelled}
	isRunning   = cell{code: CodeRunning}
	isDead      = cell{code: CodeDead}
	notDead     = cell{code: CodeNotDead}
	isFinished  = cell{code: CodeFinished}
	noDelay     = cell{code: CodeNoDelay}
	stillRuns   = cell{effect: Updated, state: Running}
	staysDead   = cell{effect: Updated, state: Dead}
)

// TestTransitionTable is the table of the service's design, row by row. The
// three finished states share a column, and so do a running attempt and the
// attempt of a replaced task.
func TestTransitionTable(t *testing.T) {
	key := validSpec().Key
	absolute := validSpec(func(s *Spec) { s.When = When{At: t0 + minute} })
	rows := []struct {
		call                                       string
		change                                     Change
		absent, scheduled, running, dead, finished cell
	}{
		{"POST", Create{Spec: validSpec(withSecondID)}, made, exists, exists, exists, exists},
		{"PUT", Replace{Spec: validSpec(withSecondID)}, made, moved, stillRuns, moved, made},
		{"PATCH", Patch{Key: key, Priority: ptr(Low)}, notFound, moved, stillRuns, staysDead, isFinished},
		{"PATCH due", Patch{Key: key, When: &When{At: t0}}, notFound, moved, isRunning, staysDead, isFinished},
		{"touch", Touch{Key: key}, notFound, moved, isRunning, isDead, isFinished},
		{"run", Run{Key: key}, notFound, moved, isRunning, isDead, isFinished},
		{"retry", Revive{Key: key}, notFound, notDead, notDead, moved, isFinished},
		{"DELETE", Cancel{Key: key}, notFound, isCancelled, noted, isCancelled, isFinished},
	}
	tasks := oneOfEachState(t)
	for _, row := range rows {
		cells := map[string]cell{
			"absent": row.absent, "scheduled": row.scheduled, "running": row.running, "superseded": row.running,
			"dead": row.dead, "delivered": row.finished, "cancelled": row.finished, "expired": row.finished,
		}
		if row.call == "DELETE" { // again
			cells["cancelled"] = cell{effect: Repeated, state: Cancelled}
		}
		for state, want := range cells {
			t.Run(row.call+"/"+state, func(t *testing.T) {
				if err := want.check(row.change.Apply(t0+5, tasks[state], facts)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	t.Run("touch/no delay", func(t *testing.T) {
		old := apply(t, t0, nil, Create{Spec: absolute})
		if err := noDelay.check(Touch{Key: key}.Apply(t0, old, facts)); err != nil {
			t.Error(err)
		}
	})
}

// TestStateComesBeforeDelay: the error for a finished task without a delay is
// that it has finished, because no change of its delay would help.
func TestStateComesBeforeDelay(t *testing.T) {
	old := create(t, func(s *Spec) { s.When = When{At: t0} })
	old = apply(t, t0, old, Cancel{Key: old.Key()})
	if err := isFinished.check(Touch{Key: old.Key()}.Apply(t0, old, facts)); err != nil {
		t.Error(err)
	}
}

func (want cell) check(got Result, err error) error {
	if want.err != nil || want.code != "" {
		return want.checkError(got, err)
	}
	if err != nil {
		return fmt.Errorf("failed: %w", err)
	}
	if got.Effect != want.effect || got.Task.State != want.state {
		return fmt.Errorf("effect %d, state %v; want %d, %v", got.Effect, got.Task.State, want.effect, want.state)
	}
	return nil
}

func (want cell) checkError(got Result, err error) error {
	if got.Task != nil || got.Spawned != nil {
		return fmt.Errorf("an error with the result %+v: a store would not know whether to write it", got)
	}
	if want.err != nil {
		if !errors.Is(err, want.err) {
			return fmt.Errorf("error %w, want %w", err, want.err)
		}
		return nil
	}
	state, ok := errors.AsType[*StateError](err)
	if !ok || state.Code != want.code || state.Error() == "" {
		return fmt.Errorf("error %w, want a *StateError with code %s", err, want.code)
	}
	return nil
}
