package kernel

import (
	"errors"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Earliest returns the time before which a step of this kind must not be made, or zero
// for any time. A medium with a clock of its own checks it again. old is not nil unless a
// client makes the step.
func Earliest(k store.Kind, old *task.Task, now task.Millis) task.Millis {
	switch k {
	case store.Claim:
		return old.Due
	case store.Fire:
		if old.Due <= now { // otherwise the end of an occurrence is the reason
			return old.Due
		}
	case store.Reaping:
		return old.Lease.Until
	case store.Removal:
		return old.KeepUntil
	}
	return 0
}

// Reap takes back a lease. The zero Reap takes back any lease that ended at or before
// now.
type Reap struct {
	Gone      bool // the process that held the lease has ended: so has the lease
	Blameless bool // a failure of the medium ended the process, so the lost attempt is not counted in Reclaims

	// Token and Until are those of the only lease to take back, whether or not it has
	// ended; an empty Token means any.
	Token task.Token
	Until task.Millis
}

// Apply implements task.Transition. Errors: task.ErrStale if there is nothing to
// take back.
func (r Reap) Apply(now task.Millis, old *task.Task, f task.Facts) (task.Result, error) {
	if old == nil || old.State != task.Running || !r.ended(now, old.Lease) {
		return task.Result{}, task.ErrStale
	}
	if r.Blameless && !old.Superseded() { // Reap does not count the attempt of a task that was replaced
		before := *old
		before.Reclaims-- // Reap adds it again
		old = &before
	}
	return old.Reap(now, r.Gone, f.Policy), nil
}

func (r Reap) ended(now task.Millis, lease *task.Lease) bool {
	if r.Token != "" {
		return lease.Token == r.Token && lease.Until == r.Until
	}
	return r.Gone || lease.Until <= now
}

// Remove removes a record after its retention.
type Remove struct{}

// Apply implements task.Transition. Errors: task.ErrStale if there is nothing to
// remove.
func (Remove) Apply(now task.Millis, old *task.Task, _ task.Facts) (task.Result, error) {
	if old == nil || old.State.Live() || old.KeepUntil > now {
		return task.Result{}, task.ErrStale
	}
	return task.Result{Effect: task.Updated}, nil
}

// Retire makes the step how of each task, by transit, and returns the tasks that it
// changed, in their new state. It notes the first task that could not be retired: every
// later call fails on the same task, and callers do not get this error.
func Retire(keys []task.Key, how store.Step, transit func([]store.Step) ([]store.Reply, error), note func(action string, err error, args ...any)) (left []*task.Task, err error) {
	steps := make([]store.Step, len(keys))
	for i := range keys {
		steps[i] = store.Step{Key: keys[i], Transition: how.Transition, Kind: how.Kind}
	}
	replies, err := transit(steps)
	if err != nil {
		return nil, err
	}
	var failed error
	var args []any
	for i, r := range replies {
		switch {
		case r.Err == nil && r.Effect != 0:
			left = append(left, r.Task)
		case r.Err != nil && failed == nil && !errors.Is(r.Err, task.ErrStale) && !errors.Is(r.Err, task.ErrLaneChanged):
			failed, args = r.Err, []any{"task", keys[i].Name, "namespace", keys[i].Namespace}
		}
	}
	action := "remove a task after its retention"
	if how.Kind == store.Reaping {
		action = "take back a task after its lease"
	}
	note(action, failed, args...)
	return left, nil
}
