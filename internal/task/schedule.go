package task

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// A schedule creates tasks repeatedly. Its record is kept among the tasks, so a
// store treats it like a task: it is in the due index at its next instant, is
// written with one batch for each change, is leased with its shard, and is in
// the backup. Three things are special:
//
//   - Its name begins with an @, for example "@nightly". No task's name begins
//     with an @, so schedules are adjacent in the order of names. The part after
//     the @ selects the shard, so that the occurrence "nightly@1732309200000" is
//     in the same shard.
//   - It is in a queue of its own, ScheduleQueue, in one lane for each
//     namespace. No client can name that queue. The settings of its occurrences
//     are in Recurrence.
//   - It is never claimed. At its instant it is fired (Fire): one step creates
//     the occurrence and moves the schedule to its next instant, never ahead of
//     time. After a crash the store has both changes or neither.
//
// Its State is Scheduled while the schedule exists, and Cancelled after it was
// removed, when it counts as missing. A schedule that is paused or has ended is
// due Never.

// ScheduleQueue is the queue of all schedules.
const ScheduleQueue = "@"

// Never is a due time that never comes, and is exact as a floating-point number.
const Never Millis = 1 << 52

// MaxScheduleName is the maximum length of a schedule's name. It is less than
// MaxNameLen because the names of the schedule's occurrences are longer.
const MaxScheduleName = 200

// FirstTaskName comes after every schedule's name in the order of names, and
// before every task's name that begins with a letter.
const FirstTaskName = "A"

// ScheduleKey returns the key of the record of a schedule.
func ScheduleKey(namespace, name string) Key { return Key{Namespace: namespace, Name: "@" + name} }

// Recurrence holds the fields of a schedule that its occurrences do not inherit,
// while they inherit the record's own labels, request, timeout, expire_after,
// retries and on_dead.
type Recurrence struct {
	recurrence.Progress

	Queue    string // of its occurrences
	Priority Priority

	ManagedBy string // the owner that foliot apply compares; "" means none
}

// Instants is recurrence.Rule.Instants. Errors: *FieldError.
func (r *Recurrence) Instants(from, until Millis, limit int) ([]Millis, error) {
	all, err := r.Progress.Instants(from, until, limit)
	return all, fieldError(err)
}

// fieldError returns err as a *FieldError if it is a *RuleError.
func fieldError(err error) error {
	if e, ok := errors.AsType[*recurrence.RuleError](err); ok {
		return &FieldError{e.Field, e.Code, e.Detail}
	}
	return err
}

// IsSchedule reports whether t is a schedule: it has a Recurrence then, and a task
// has none. A separate field for the kind could contradict that.
func (t *Task) IsSchedule() bool { return t.Recur != nil }

// ScheduleName returns the name of t if t is a schedule, and "" for a task.
func (t *Task) ScheduleName() string {
	if !t.IsSchedule() {
		return ""
	}
	return t.Name[1:]
}

// clone returns a copy that shares nothing with r.
func (r *Recurrence) clone() *Recurrence {
	c := *r
	c.Fired = slices.Clone(r.Fired)
	return &c
}

// OccurrenceName returns the name of the occurrence of a schedule at an instant.
func OccurrenceName(schedule string, at Millis) string {
	return schedule + "@" + strconv.FormatInt(int64(at), 10)
}

// OccurrenceOf returns the schedule of an occurrence and its instant, or 0 for
// an occurrence that was triggered (".t…"). ok is false for any other name,
// such as the name of an on_dead task, which contains an @ too.
func OccurrenceOf(name string) (schedule string, at Millis, ok bool) {
	schedule, made, ok := strings.Cut(name, "@")
	if !ok || schedule == "" { // nearly all names
		return "", 0, false
	}
	digits, kind, more := strings.Cut(made, ".")
	at, ok = instantOf(digits)
	if !ok || more && kind == "" || strings.Contains(kind, "@") {
		return "", 0, false
	}
	if strings.HasPrefix(kind, "t") {
		at = 0
	}
	return schedule, at, true
}

// instantOf parses an instant as OccurrenceName writes it.
func instantOf(digits string) (Millis, bool) {
	if digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return Millis(n), err == nil
}

// ScheduleLane returns the lane of a namespace's schedules.
func ScheduleLane(namespace string) Lane {
	return Lane{Namespace: namespace, Queue: ScheduleQueue, Priority: Normal}
}

// Unfinished returns the change of the number of a schedule's unfinished
// occurrences when old becomes t, and the key of that counter. old or t can be
// nil, for no record. A store keeps the number as the Scheduled count of a queue
// that has the schedule's name. Fire needs it, so each change updates it in its
// batch, like all counts.
func Unfinished(old, t *Task) (counter QueueKey, change int64) {
	before, after := old != nil && old.State.Live(), t != nil && t.State.Live()
	if before == after {
		return QueueKey{}, 0
	}
	r := cmp.Or(t, old)
	schedule, _, ok := OccurrenceOf(r.Name)
	if !ok {
		return QueueKey{}, 0
	}
	if after {
		change = 1
	} else {
		change = -1
	}
	return ScheduleKey(r.Namespace, schedule).UnfinishedCounter(), change
}

// UnfinishedCounter returns the key of the counter of unfinished occurrences, if k
// is the key of the schedule's record.
func (k Key) UnfinishedCounter() QueueKey { return QueueKey{Namespace: k.Namespace, Queue: k.Name} }

// OfOccurrences reports whether k is the key of a counter of unfinished
// occurrences, while any other key names a queue.
func (k QueueKey) OfOccurrences() bool { return len(k.Queue) > 1 && k.Queue[0] == '@' }
