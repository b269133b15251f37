package kernel

import (
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
