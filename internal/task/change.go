package task

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// Change is one mutation of one task, requested by a client. The types that
// implement Change are the rows of the transition table; their Apply methods
// are its cells.
//
// Apply is pure: it returns an error, or the record that replaces old, and never
// writes to old, which is nil if there is no record. A store calls Apply inside
// its atomic batch and writes the difference.
type Change interface {
	Target() Key
	Action() string // the noun and the verb: "task.cancel"
	Transition
}

// Transition is one step in the life of a record. Each Change is a Transition,
// and so are Claim, Extension, Settlement and Fire.
type Transition interface {
	Apply(now Millis, old *Task, f Facts) (Result, error)
}

// Facts holds the facts that a transition needs and that its record does not have,
// so the store gathers them.
type Facts struct {
	Policy

	// Unfinished is the number of unfinished occurrences of the schedule, for a
	// Fire.
	Unfinished int64

	// Quota is the quota of the schedule's namespace, for a Fire. An instant that
	// exceeds the quota is skipped, not delayed, because it would delay all later
	// instants too.
	Quota Quota
}

// Result is the outcome of a change.
type Result struct {
	Task   *Task // the record as it is now
	Effect Effect

	// Already is set if an earlier change had the same effect, so that this
	// change did nothing. Effect is the effect of the earlier change, with
	// Repeated in place of Updated.
	Already bool

	// UnderWay is set if an attempt of the task might be under way, or might
	// still begin: see Task.UnderWay. It is valid for changes by clients.
	UnderWay bool

	// Spawned is a task that begins with this change, or nil. The store creates
	// it in the same atomic batch, unless its name is taken.
	Spawned *Task

	// Skipped lists the instants that a schedule skipped, for the log.
	Skipped []recurrence.Skip
}

// Effect is the effect that a change had.
type Effect uint8

// The effects.
const (
	Created  Effect = 1 + iota // a new record, or a new incarnation after a finished one
	Repeated                   // the idempotent repeat of a create: nothing changed
	Updated                    // an existing record changed, or was replaced
	Accepted                   // the change was recorded and takes effect at the end of the attempt that might be under way
)

// Precondition holds If-Match and If-None-Match, and its zero value always
// matches.
type Precondition struct {
	IfMatch     []string // entity tags, without quotes; "*" matches any record
	IfNoneMatch bool     // requires that there is no record
}

// Check returns ErrPrecondition if old, which is nil if there is no record, does
// not match c.
func (c Precondition) Check(old *Task) error {
	tag := ""
	if old != nil && len(c.IfMatch) > 0 {
		tag = old.ETag()
	}
	return c.CheckTag(old != nil, tag)
}

// CheckTag is the Check of records that are not tasks.
func (c Precondition) CheckTag(exists bool, tag string) error {
	switch {
	case c.IfNoneMatch && exists:
		return ErrPrecondition
	case len(c.IfMatch) > 0 && (!exists || !slices.Contains(c.IfMatch, "*") && !slices.Contains(c.IfMatch, tag)):
		return ErrPrecondition
	}
	return nil
}

// ETag returns the entity tag of the record, without quotes.
func (t *Task) ETag() string { return t.ID + "." + strconv.FormatUint(t.Version, 10) }

// Sign writes into the result of c, which was applied to old, when it was made and
// by which token, "" for none. It ignores a CheckSchedule, which maintenance makes
// and which only repeats the author's request.
func Sign(now Millis, token string, c Change, old *Task, r Result) {
	t := r.Task
	switch _, checked := c.(CheckSchedule); {
	case t == old || checked:
	case old == nil || old.ID != t.ID:
		t.CreatedBy = token
	default:
		t.ChangedAt, t.ChangedBy, t.ChangedAction = now, token, c.Action()
	}
}

// Create makes a task if no record has its name.
type Create struct {
	Spec        Spec
	Idempotency *Idempotency // nil means that a repeat is an error
}

func (c Create) Target() Key    { return c.Spec.Key }
func (c Create) Action() string { return "task.create" }

// Apply creates the task, or recognises the repeat of the create that made it.
// Errors: ErrExists, ErrIdempotencyReuse.
func (c Create) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	if old != nil {
		if old.Idempotency == nil {
			return Result{}, old.exists()
		}
		switch repeated, err := c.Idempotency.repeats(*old.Idempotency); {
		case err != nil:
			return Result{}, err
		case !repeated:
			return Result{}, old.exists()
		}
		return Result{Task: old, Effect: Repeated}, nil
	}
	return Result{Task: c.Spec.beginOnce(now, c.Idempotency), Effect: Created}, nil
}

// Replace creates a task or puts a new incarnation in the place of the old one.
type Replace struct {
	Spec        Spec
	If          Precondition
	Idempotency *Idempotency // nil means that a repeat replaces again
}

func (c Replace) Target() Key    { return c.Spec.Key }
func (c Replace) Action() string { return "task.replace" }

// Apply begins a new incarnation. If an attempt of the old one is under way, the
// new one starts when that attempt has settled, with any outcome. Until then the
// record is the new task with the old task's lease.
//
// A repeated replace with the same idempotency key changes nothing, even if
// another replace came in between or the task has finished. The repeat is
// recognised before the precondition is checked. Errors: ErrPrecondition,
// ErrIdempotencyReuse.
func (c Replace) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	if repeated, err := old.Repeats(c.Idempotency); err != nil {
		return Result{}, err
	} else if repeated {
		return Result{Task: old, Effect: Repeated, UnderWay: old.UnderWay(now)}, nil
	}
	if err := c.If.Check(old); err != nil {
		return Result{}, err
	}
	t := c.Spec.beginOnce(now, c.Idempotency)
	if old == nil {
		return Result{Task: t, Effect: Created}, nil
	}
	t.MaybeSendingUntil, t.Replaced = old.MaybeSendingUntil, old.replacedMarks()
	if old.State.Finished() {
		return Result{Task: t, Effect: Created, UnderWay: t.UnderWay(now)}, nil
	}
	if old.State == Running {
		lease := *old.Lease
		t.State, t.Lease = Running, &lease
	}
	return Result{Task: t, Effect: Updated, UnderWay: t.UnderWay(now)}, nil
}

// Patch changes some fields of a live or dead task, but not those that are nil
// here.
type Patch struct {
	Key  Key
	If   Precondition
	Only *Filter // a second condition, which the task must match; nil means none

	When        *When
	Shift       time.Duration // added to the due time; only without When
	Queue       *string
	Priority    *Priority
	Labels      map[string]*string // a nil value removes the label
	URL         *string
	Method      *string
	Headers     map[string]*string // a nil value removes the header; names ignore case
	Body        *Body
	Args        *Body // the arguments of a task of a kind
	Timeout     *time.Duration
	ExpireAfter *time.Duration
	MaxAttempts *int
	MinBackoff  *time.Duration
	MaxBackoff  *time.Duration
	MaxAge      *time.Duration
	OnDead      *string
}

// Body is a body and the way it was given.
type Body struct {
	Kind  BodyKind
	Bytes []byte
}

func (c Patch) Target() Key    { return c.Key }
func (c Patch) Action() string { return "task.patch" }

// Apply merges the patch. A running task keeps its due time, and the other fields
// apply from its next attempt, while a dead task stays dead. Errors: ErrNotFound,
// ErrPrecondition, *StateError, and *FieldError if the merged task is not valid.
func (c Patch) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	if err := find(old, c.If); err != nil {
		return Result{}, err
	}
	switch {
	case !c.Only.Match(old):
		return Result{}, ErrPrecondition
	case old.State.Finished():
		return Result{}, finished("change", old)
	case old.State == Running && (c.When != nil || c.Shift != 0):
		return Result{}, &StateError{Op: "move", ID: old.ID, State: Running, Code: CodeRunning, Hint: "the due time cannot change while an attempt is running: wait for the end of the attempt, or replace the task"}
	}
	if err := c.fits(&old.Request); err != nil {
		return Result{}, err
	}
	t := old.Clone()
	t.Version++
	c.merge(now, t)
	if t.OriginalDue > latest(now) {
		return Result{}, &FieldError{"by", "out_of_range", "the task would be due more than 100 years ahead"}
	}
	if err := t.validate(); err != nil {
		return Result{}, err
	}
	return Result{Task: t, Effect: Updated, UnderWay: t.UnderWay(now)}, nil
}

// fits refuses changes of a request in a task of a kind, and of arguments in a
// task with a URL.
func (c Patch) fits(r *Request) error {
	switch {
	case r.Kind == "" && c.Args != nil:
		return &FieldError{"work", "conflict", "the task calls a URL: change http, or replace the task"}
	case r.Kind != "" && (c.URL != nil || c.Method != nil || len(c.Headers) > 0 || c.Body != nil):
		return &FieldError{"http", "conflict", "the task calls a handler: change work, or replace the task"}
	}
	return nil
}

func (c Patch) merge(now Millis, t *Task) {
	if c.When != nil {
		t.Relative, t.Delay = c.When.Relative, c.When.Delay
		t.reschedule(now, c.When.due(now))
	}
	if c.Shift != 0 {
		t.reschedule(now, max(t.OriginalDue.Add(c.Shift), 1)) // 0 is no time
	}
	if c.Queue != nil && *c.Queue != t.Queue {
		t.Queue, t.QueuedAt = *c.Queue, now
	}
	Set(&t.Priority, c.Priority)
	Set(&t.Request.URL, c.URL)
	Set(&t.Request.Method, c.Method)
	Set(&t.Timeout, c.Timeout)
	Set(&t.ExpireAfter, c.ExpireAfter)
	Set(&t.Retry.MaxAttempts, c.MaxAttempts)
	Set(&t.Retry.MinBackoff, c.MinBackoff)
	Set(&t.Retry.MaxBackoff, c.MaxBackoff)
	Set(&t.Retry.MaxAge, c.MaxAge)
	Set(&t.OnDead, c.OnDead)
	t.Labels = mergeMap(t.Labels, c.Labels, func(a, b string) bool { return a == b })
	t.Request.Headers = mergeMap(t.Request.Headers, c.Headers, equalFold)
	if b := cmp.Or(c.Body, c.Args); b != nil {
		t.Request.BodyKind, t.Request.BodySize, t.Request.Body = b.Kind, len(b.Bytes), b.Bytes
	}
}

// Set stores *v in *field if v is not nil.
func Set[T any](field, v *T) {
	if v != nil {
		*field = *v
	}
}

// mergeMap applies edits to m. An edit removes each key of m that same reports
// as equal to its own key, and adds its value unless the value is nil.
func mergeMap(m map[string]string, edits map[string]*string, same func(a, b string) bool) map[string]string {
	if len(edits) > 0 && m == nil {
		m = make(map[string]string, len(edits))
	}
	for k, v := range edits {
		maps.DeleteFunc(m, func(old, _ string) bool { return same(old, k) })
		if v != nil {
			m[k] = *v
		}
	}
	return m
}

// Touch sets a waiting task's due time to now plus the task's delay, as the
// heartbeat of a watchdog does.
type Touch struct {
	Key Key
	If  Precondition
}

func (c Touch) Target() Key    { return c.Key }
func (c Touch) Action() string { return "task.touch" }

// Apply restarts the delay and forgets the failed attempts. Errors:
// ErrNotFound, ErrPrecondition, *StateError.
func (c Touch) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	if err := find(old, c.If); err != nil {
		return Result{}, err
	}
	switch {
	case old.State.Finished():
		return Result{}, finished("touch", old)
	case old.State == Running:
		return Result{}, &StateError{Op: "touch", ID: old.ID, State: Running, Code: CodeRunning, Hint: "wait until the attempt ends"}
	case old.State == Dead:
		return Result{}, &StateError{Op: "touch", ID: old.ID, State: Dead, Code: CodeDead, Hint: "retry it first"}
	case !old.Relative:
		return Result{}, &StateError{Op: "touch", ID: old.ID, State: old.State, Code: CodeNoDelay, Hint: "it was created with an absolute time; change the due time instead"}
	}
	t := old.Clone()
	t.Version++
	t.forgetAttempts()
	t.reschedule(now, When{Relative: true, Delay: t.Delay}.due(now))
	return Result{Task: t, Effect: Updated}, nil
}

// Run makes a waiting task due now.
type Run struct {
	Key Key
	If  Precondition
}

func (c Run) Target() Key    { return c.Key }
func (c Run) Action() string { return "task.run" }

// Apply makes the task due and urgent, so that it ignores pause and rate, but not
// concurrency. A quarantined task stays in quarantine and ignores nothing. Errors:
// ErrNotFound, ErrPrecondition, *StateError.
func (c Run) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	if err := find(old, c.If); err != nil {
		return Result{}, err
	}
	switch {
	case old.State.Finished():
		return Result{}, finished("run", old)
	case old.State == Running:
		return Result{}, &StateError{Op: "run", ID: old.ID, State: Running, Code: CodeRunning, Hint: "wait until the attempt ends"}
	case old.State == Dead:
		return Result{}, &StateError{Op: "run", ID: old.ID, State: Dead, Code: CodeDead, Hint: "retry it instead"}
	}
	t := old.Clone()
	t.Version++
	t.reschedule(now, now)
	t.RunNow = true
	return Result{Task: t, Effect: Updated}, nil
}

// Revive restarts a task that has ended, which the API calls "retry".
type Revive struct {
	Key  Key
	If   Precondition
	Only *Filter // a second condition, which the task must match; nil means none
}

func (c Revive) Target() Key    { return c.Key }
func (c Revive) Action() string { return "task.retry" }

// Apply makes the task due now, with the same id and no attempts used, if it is
// dead, or finished with its body kept. Errors: ErrNotFound, ErrPrecondition,
// *StateError.
func (c Revive) Apply(now Millis, old *Task, _ Facts) (Result, error) {
	if err := find(old, c.If); err != nil {
		return Result{}, err
	}
	if !c.Only.Match(old) {
		return Result{}, ErrPrecondition
	}
	switch {
	case old.State.Finished() && !old.Whole:
		return Result{}, &StateError{Op: "retry", ID: old.ID, State: old.State, Code: CodeFinished, Hint: "its body was not kept: replace the task. To be able to retry later tasks, set keep_bodies on their queue (foliot queue set NAME --keep-bodies)"}
	case old.State.Live():
		return Result{}, &StateError{Op: "retry", ID: old.ID, State: old.State, Code: CodeNotDead, Hint: "only a dead or finished task can be retried; to make this task due now, run it"}
	}
	t := old.Clone()
	t.Version++
	t.State, t.Reason, t.FinishedAt, t.KeepUntil, t.Whole = Scheduled, "", 0, 0, false
	t.QueuedAt = now
	t.forgetAttempts()
	t.reschedule(now, now)
	return Result{Task: t, Effect: Updated}, nil
}

// Cancel cancels a task.
type Cancel struct {
	Key  Key
	If   Precondition
	Only *Filter // a second condition, which the task must match; nil means none

	Reason string // why; "": ReasonCancelled
}

func (c Cancel) Target() Key { return c.Key }
func (c Cancel) Action() string {
	if c.Reason == ReasonPurged {
		return "task.purge"
	}
	return "task.cancel"
}

// Apply cancels. Updated means that no further attempt starts, and Accepted that
// an attempt is or may be under way, and that no retry follows it. A cancelled
// task stays as it is (Result.Already), even if the precondition names the version
// before the cancel. Errors: ErrNotFound, ErrPrecondition, *StateError.
func (c Cancel) Apply(now Millis, old *Task, f Facts) (Result, error) {
	err := find(old, c.If)
	if errors.Is(err, ErrPrecondition) && old.State == Cancelled { // the cancel itself made this version
		before := *old
		before.Version--
		err = c.If.Check(&before)
	}
	if err != nil {
		return Result{}, err
	}
	if !c.Only.Match(old) {
		return Result{}, ErrPrecondition
	}
	if old.State == Cancelled {
		r := Result{Task: old, Effect: Repeated, Already: true, UnderWay: old.UnderWay(now)}
		if r.UnderWay {
			r.Effect = Accepted
		}
		return r, nil
	}
	if old.State.Finished() {
		return Result{}, finished("cancel", old)
	}
	t := old.Clone()
	t.Version++
	if old.State == Running {
		if !old.CancelRequested { // the first cancel sets the reason
			t.CancelRequested, t.Reason = true, c.Reason
		}
		return Result{Task: t, Effect: Accepted, UnderWay: true}, nil
	}
	t.finish(now, Cancelled, cmp.Or(c.Reason, ReasonCancelled), f.Policy)
	if t.UnderWay(now) {
		return Result{Task: t, Effect: Accepted, UnderWay: true}, nil
	}
	return Result{Task: t, Effect: Updated}, nil
}

// find does the checks that every change to an existing task begins with.
func find(old *Task, c Precondition) error {
	if old == nil || old.IsSchedule() {
		return ErrNotFound
	}
	return c.Check(old)
}

func finished(op string, t *Task) error {
	return &StateError{Op: op, ID: t.ID, State: t.State, Code: CodeFinished, Hint: "a finished task cannot change: replace it"}
}

// reschedule moves t to a due time that a client requested, so the rest of a wait
// after a failure no longer counts against the task's age.
func (t *Task) reschedule(now, due Millis) {
	if t.Due != t.OriginalDue {
		t.Aged = max(t.Aged-max(t.Due.Sub(now), 0), 0)
	}
	t.OriginalDue, t.Due, t.RunNow = due, due, false
}

// forgetAttempts resets t's used attempts and age, but its history and the numbers
// of its attempts stay.
func (t *Task) forgetAttempts() { t.AttemptsUsed, t.Reclaims, t.FirstAttemptAt, t.Aged = 0, 0, 0, 0 }
