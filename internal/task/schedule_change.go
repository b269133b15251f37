package task

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// ScheduleSpec is a schedule as a client requests it, with the template for
// occurrences as its Spec: its name is the schedule's, and its When is ignored.
type ScheduleSpec struct {
	Spec
	Rule   recurrence.Rule
	Paused *bool  // nil means that the pause does not change
	Runs   *int64 // the first Recurrence.Runs of a schedule that was moved from another installation; nil means 0

	ManagedBy *string // nil means that the owner does not change; "" removes it
}

// Validate checks all fields that can be checked without a store, and returns a
// *FieldError for the first invalid one.
func (s *ScheduleSpec) Validate(now Millis) error {
	if err := ValidateName("name", s.Name); err != nil {
		return err
	}
	if len(s.Name) > MaxScheduleName {
		return &FieldError{"name", "bad_name", fmt.Sprintf("a schedule's name has 1 to %d characters: those of its occurrences are longer", MaxScheduleName)}
	}
	if err := ValidateRule(&s.Rule, now); err != nil {
		return err
	}
	if s.Runs != nil && *s.Runs < 0 {
		return &FieldError{"runs", "out_of_range", "must be 0 or more"}
	}
	if s.ManagedBy != nil {
		if err := ValidateOwner(*s.ManagedBy); err != nil {
			return err
		}
	}
	t := s.record(now)
	return within("task", t.validate())
}

// within prefixes the path of a *FieldError with a field, and returns nil if err
// is nil.
func within(field string, err error) error {
	if inner, ok := errors.AsType[*FieldError](err); ok {
		return &FieldError{field + "." + inner.Path, inner.Code, inner.Detail}
	}
	return err
}

// ValidateRule checks the rule of a schedule, and returns a *FieldError for the
// first invalid field.
func ValidateRule(r *recurrence.Rule, now Millis) error {
	switch {
	case r.Cron == "" && r.Every == 0:
		return &FieldError{"cron", "required", "missing: a schedule needs cron (an expression) or every (a duration)"}
	case r.Cron != "" && r.Every != 0:
		return &FieldError{"every", "conflict", "cannot be combined with cron"}
	case r.Cron == "" && r.Zone != "":
		return &FieldError{"timezone", "conflict", "cannot be combined with every, which does not depend on a time zone"}
	case r.Cron == "" && (r.Every < recurrence.MinEvery || r.Every > MaxDuration || r.Every%time.Millisecond != 0):
		return &FieldError{"every", "out_of_range", "must be between 1s and 100 years, in whole milliseconds"}
	case r.Anchor < 0 || r.Anchor > latest(now):
		return &FieldError{"anchor", "out_of_range", "must be after 1970-01-01T00:00:00Z and at most 100 years ahead"}
	case r.Start < 0 || r.Start > latest(now):
		return &FieldError{"start", "out_of_range", "must be after 1970-01-01T00:00:00Z and at most 100 years ahead"}
	case r.End != 0 && r.End < r.Start:
		return &FieldError{"end", "out_of_range", "must not be before start"}
	case r.End > recurrence.LastInstant:
		return &FieldError{"end", "out_of_range", "must be before the year 10000; leave it out for a schedule without an end"}
	case r.MaxRuns < 0:
		return &FieldError{"max_runs", "out_of_range", "must be 0 (no limit) or more"}
	case r.CatchupLimit < 1 || r.CatchupLimit > recurrence.MaxCatchupLimit:
		return &FieldError{"catchup_limit", "out_of_range", fmt.Sprintf("must be between 1 and %d", recurrence.MaxCatchupLimit)}
	}
	_, err := r.Calendar()
	return cmp.Or(
		ValidateDuration("jitter", r.Jitter, 0, recurrence.MaxJitter),
		ValidateDuration("catchup_window", r.CatchupWindow, 0, MaxDuration),
		fieldError(err),
	)
}

// PutSchedule creates a schedule or replaces its definition.
type PutSchedule struct {
	Spec ScheduleSpec
	If   Precondition
}

func (c PutSchedule) Target() Key    { return ScheduleKey(c.Spec.Namespace, c.Spec.Name) }
func (c PutSchedule) Action() string { return "schedule.put" }

// Apply creates a schedule that begins with the first instant after now, or
// replaces the rule of an existing schedule. An existing schedule keeps its
// history: it does not fire an instant again, continues to count its runs, and
// stays paused.
//
// If the new rule has different instants, the schedule counts from now and fires
// no earlier instant. The anchor and the runs in the spec apply only to a new
// schedule. An existing one keeps its own, so a client can put a spec that it
// read before the latest instant.
//
// Errors: ErrPrecondition, and a *FieldError if no instant is left. It is no
// error if the existing schedule has the same rule, because a repeated
// deployment may find the schedule ended, and leaves it ended.
func (c PutSchedule) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	old = presentSchedule(old)
	if err := c.If.Check(old); err != nil {
		return Result{}, err
	}
	t := c.Spec.begin(now)
	r := &Recurrence{Progress: recurrence.Progress{Rule: c.Spec.Rule, Last: now}, Queue: t.Queue, Priority: t.Priority}
	t.Name, t.Queue, t.Priority, t.Recur = c.Target().Name, ScheduleQueue, Normal, r
	t.Request.Destination = "" // a namespace has one lane for all its schedules
	effect := Created
	if old != nil || r.Cron != "" || r.Start != 0 {
		r.Anchor = 0
	}
	if n := c.Spec.Runs; n != nil {
		r.Runs = *n
	}
	if old != nil {
		effect = Updated
		t.ID, t.Version, t.CreatedAt, t.CreatedBy = old.ID, old.Version+1, old.CreatedAt, old.CreatedBy
		r.Inherit(now, &old.Recur.Progress)
		r.ManagedBy = old.Recur.ManagedBy
	}
	if owner := c.Spec.ManagedBy; owner != nil {
		r.ManagedBy = *owner
	}
	if r.Anchor == 0 {
		r.Anchor = cmp.Or(r.Start, now)
	}
	if r.Over(now) && (old == nil || !r.Same(&old.Recur.Rule) || r.End != old.Recur.End) {
		return Result{}, &FieldError{"end", "never_fires", "the schedule has no instant between now and its end"}
	}
	if p := c.Spec.Paused; p != nil {
		r.Pause(now, *p)
	}
	t.OriginalDue = 0 // no meaning for a schedule
	return t.resolved(now, effect), nil
}

// resolved sets the due time of t, which the caller owns, and returns t as a
// result, with a Problem if the rule yields no instants.
func (t *Task) resolved(now Millis, e Effect) Result {
	if c, ok := t.calendar(now); ok {
		t.Recur.Rewind(now)
		t.setNextCheck(&c, now)
	}
	return Result{Task: t, Effect: e}
}

// PauseSchedule stops or resumes a schedule.
type PauseSchedule struct {
	Key    Key // of the record
	If     Precondition
	Resume bool
}

func (c PauseSchedule) Target() Key { return c.Key }
func (c PauseSchedule) Action() string {
	if c.Resume {
		return "schedule.resume"
	}
	return "schedule.pause"
}

// Apply pauses or resumes, while occurrences that have begun continue. Instants
// during a pause create no occurrence and are not made up for. A schedule
// already in the requested state does not change. Errors: ErrNotFound,
// ErrPrecondition.
func (c PauseSchedule) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	old = presentSchedule(old)
	if err := findSchedule(old, c.If); err != nil {
		return Result{}, err
	}
	if old.Recur.Paused != c.Resume {
		return Result{Task: old, Effect: Repeated}, nil
	}
	t := old.Clone()
	t.Version++
	t.Recur.Pause(now, !c.Resume)
	return t.resolved(now, Updated), nil
}

// RemoveSchedule ends a schedule, but its occurrences stay.
type RemoveSchedule struct {
	Key Key // of the record
	If  Precondition
}

func (c RemoveSchedule) Target() Key    { return c.Key }
func (c RemoveSchedule) Action() string { return "schedule.delete" }

// Apply marks the record as removed, so it may be swept at once, and counts as
// missing. Errors: ErrNotFound, ErrPrecondition.
func (c RemoveSchedule) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	old = presentSchedule(old)
	if err := findSchedule(old, c.If); err != nil {
		return Result{}, err
	}
	t := old.Clone()
	t.Version++
	t.finish(now, Cancelled, ReasonCancelled, Policy{})
	return Result{Task: t, Effect: Updated}, nil
}

// CheckSchedule computes a schedule's next instant again, after a clock step or
// a change of its zone's rules; maintenance applies it.
type CheckSchedule struct{ Key Key }

func (c CheckSchedule) Target() Key    { return c.Key }
func (c CheckSchedule) Action() string { return "schedule.check" }

// Apply recomputes the due time, and has the effect Repeated if it was right.
// Errors: ErrNotFound.
func (c CheckSchedule) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	old = presentSchedule(old)
	if old == nil {
		return Result{}, ErrNotFound
	}
	r := old.Recur
	if old.Due <= now || r.Paused { // dispatch is about to fire it, or it is paused
		return Result{Task: old, Effect: Repeated}, nil
	}
	found := old.Clone().resolved(now, Updated)
	t := found.Task
	polled := r.Waiting != 0 || t.Recur.Problem != "" // Fire checks such a schedule at intervals
	if t.Recur.Problem == r.Problem && t.Recur.Next == r.Next && (t.Due == old.Due || polled && old.Due < t.Due) {
		return Result{Task: old, Effect: Repeated}, nil
	}
	return found, nil
}

// presentSchedule returns old if it is an existing schedule, or nil if it was
// removed.
func presentSchedule(old *Task) *Task {
	if old == nil || !old.IsSchedule() || old.State != Scheduled {
		return nil
	}
	return old
}

// findSchedule is find for schedules.
func findSchedule(old *Task, c Precondition) error {
	if old == nil {
		return ErrNotFound
	}
	return c.Check(old)
}
