package kernel

import (
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Facts gives Decide its inputs except the record and the owner of the key, as they are
// directly before the step.
type Facts interface {
	// Settings returns the settings in force.
	Settings() *settings.Settings

	// Retention returns how long records are kept unless the queue says otherwise.
	Retention() task.Policy

	// Quota returns the limits of a namespace, and its counts.
	Quota(namespace string) task.Quota

	// Unfinished returns the number of unfinished occurrences of a schedule.
	Unfinished(schedule task.Key) int64

	// Room returns an error if the medium has too little room for a step with this
	// need, or takes no new tasks at all. Errors: task.ErrFull, task.ErrStoreUnfit.
	Room(Need) error
}

// Need is how badly a step needs room.
type Need uint8

// The needs. A medium that runs full refuses the last of them first.
const (
	neverRefused Need = iota // no client asked for the step, or the step ends or pauses a task or a schedule
	MoreBytes                // a record changes
	morePending              // a task that had ended waits again
	MoreRecords              // a new task or occurrence
)

// Decision is the effect of a step.
type Decision struct {
	task.Result

	// Err is the error of the reply. If Applied is set, the transition has a result in
	// spite of Err: see task.Applied.
	Err     error
	Applied bool
	Writes  bool // the record or a spawned task must be written
	Need    Need // of a step that writes

	// Seen is the part of the store that caused a refusal. The reply must wait until that
	// part is durable, because a crash could otherwise undo the cause.
	Seen Seen

	// Synced is set if the reply must wait until the write is durable. A lease that was
	// given or extended need not be durable, because its task is only due again if a
	// crash undoes it.
	Synced bool
}

// Seen is a part of a store.
type Seen uint8

// The parts.
const (
	seenRecord Seen = iota
	SeenKeyOwner
	SeenSettings
	SeenCounts
)

// Decide decides one step, and who is the actor that asked for it. old is the record
// before it, nil if there is none, with its body for a Fire. owner is the name of the
// task that the step's Idempotency-Key has created, "" if there is none. Decide modifies
// none of its arguments, and signs the new record if the step is a Change.
func Decide(now task.Millis, who settings.Actor, st *store.Step, owner string, old *task.Task, f Facts) Decision {
	if m := f.Settings().Migration(); m != nil && st.Kind != store.Adoption {
		return Decision{Err: m.Refusal(), Seen: SeenSettings}
	}
	if owner != "" && owner != st.Key.Name {
		return Decision{Err: task.ErrIdempotencyReuse, Seen: SeenKeyOwner}
	}
	facts := task.Facts{Policy: f.Retention()}
	if old != nil {
		facts.Policy = f.Settings().Policy(facts.Policy, old.Namespace, old.Queue)
	}
	if st.Kind == store.Fire && old != nil {
		facts.Unfinished, facts.Quota = f.Unfinished(st.Key), f.Quota(st.Key.Namespace)
	}
	result, err := st.Transition.Apply(now, old, facts)
	d := Decision{Result: result, Err: err, Applied: task.Applied(err)}
	if !d.Applied {
		return Decision{Err: err}
	}
	if d.Writes = result.Task != old || result.Spawned != nil || st.Kind == store.Removal; d.Writes {
		d.Need = needOf(st, old, result)
		if seen, err := admit(st, old, d, f); err != nil {
			return Decision{Err: err, Seen: seen}
		}
	}
	d.Synced = st.Kind != store.Extension && (st.Kind != store.Claim || err != nil)
	if st.Kind == store.Change {
		task.Sign(now, who.Token, st.Transition.(task.Change), old, result)
	}
	return d
}

// admit makes the checks after the transition, and returns as seen the part of the store
// that caused the error.
func admit(st *store.Step, old *task.Task, d Decision, f Facts) (seen Seen, err error) {
	if st.Kind == store.Change {
		if err := f.Settings().Takes(old, d.Task); err != nil {
			return SeenSettings, err
		}
		q := f.Quota(d.Task.Namespace)
		if err := q.Admit(old, d.Task); err != nil {
			return SeenCounts, err
		}
	}
	if d.Need == neverRefused {
		return seenRecord, nil
	}
	return seenRecord, f.Room(d.Need)
}

// needOf returns how badly a step needs room.
func needOf(st *store.Step, old *task.Task, r task.Result) Need {
	switch {
	case st.Kind == store.Adoption:
		return MoreRecords
	case st.Kind != store.Change && st.Kind != store.Fire:
		return neverRefused
	case r.Spawned != nil || st.Kind == store.Change && old == nil:
		return MoreRecords
	case pends(r.Task) && !pends(old):
		return morePending
	case st.Kind == store.Fire:
		return neverRefused
	}
	switch st.Transition.(type) {
	case task.Cancel, task.RemoveSchedule, task.PauseSchedule:
		return neverRefused
	}
	return MoreBytes
}

// pends reports whether t waits for an attempt, or has one under way.
func pends(t *task.Task) bool {
	return t != nil && (t.State == task.Scheduled || t.State == task.Running)
}
