package task

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/cron"
)

// A schedule creates tasks repeatedly. Its record is kept among the tasks, so a
// store treats it like a task: it is in the due index at its next instant, is
// written with one batch for each change, is leased with its shard, and is in
// the backup. Three things are special:
//
//   - Its name begins with an @, as no task's name does: "@nightly". So
//     schedules are adjacent in the order of names. The part after the @ selects
//     the shard, so that "nightly@1732309200000", an occurrence, is in the same
//     shard.
//   - It is in a queue of its own, ScheduleQueue, in one lane for each
//     namespace. No client can name that queue. The settings of its occurrences
//     are in Recurrence.
//   - It is never claimed. At its instant it is fired (Fire): one step creates
//     the occurrence and moves the schedule on, never ahead of time. A crash
//     leaves either both or neither.
//
// Its State is Scheduled while the schedule exists, and Cancelled after it was
// removed. A removed schedule counts as missing. A schedule that is paused or
// has ended is due Never.

// ScheduleQueue is the queue of all schedules.
const ScheduleQueue = "@"

// Never is a due time that never comes. It is exact as a floating-point number.
const Never Millis = 1 << 52

// MaxScheduleName is the maximum length of a schedule's name: the names of its
// occurrences are longer.
const MaxScheduleName = 200

// FirstTaskName comes after every schedule's name in the order of names, and before every
// task's that begins with a letter.
const FirstTaskName = "A"

// ScheduleKey returns the key of the record of a schedule.
func ScheduleKey(namespace, name string) Key { return Key{Namespace: namespace, Name: "@" + name} }

// Recurrence holds the fields of a schedule that its occurrences do not
// inherit. They inherit the record's own labels, request, timeout,
// expire_after, retries and on_dead.
type Recurrence struct {
	Rule

	Queue    string // of its occurrences
	Priority Priority

	Paused   bool
	PausedAt Millis

	// Last is the last instant that was handled. Civil is its civil time if the
	// expression is fixed: even if the rules of a zone change, one evening has
	// one nine o'clock.
	Last  Millis
	Civil cron.Civil

	Next    Millis // the next instant; 0: there is none
	Waiting Millis // the instant whose occurrence waits for the end of earlier ones (BufferOne); 0: none
	Runs    int64  // occurrences that instants have made, including the waiting one
	Limited Millis // CatchupLimit has been applied up to here
	Fired   []Span // the instants fired, in order, at most maxSpans
	Skipped Skip   // the last instants skipped; zero: none
	Problem string // the reason why its rule cannot be followed now
}

// Rule is a client's definition of a schedule's instants.
type Rule struct {
	Cron   string        // an expression; "": Every
	Zone   string        // IANA name, valid with Cron
	Gap    cron.Gap      // for instants in a gap of the zone
	Fold   cron.Overlap  // for instants that happen twice in the zone
	Every  time.Duration // valid where Cron is ""
	Anchor Millis        // Every counts from this instant, which is no instant of the rule unless Start is set

	Start, End Millis // no instant before and after these; 0: no bound
	MaxRuns    int64  // 0: no bound
	Jitter     time.Duration

	Misfire       Misfire
	CatchupWindow time.Duration // instants missed longer ago are skipped
	CatchupLimit  int           // how many instants FireAll makes up for
	Overlap       Overlap
}

// The bounds of a Rule, and its defaults.
const (
	MinEvery             = time.Second
	MaxJitter            = 24 * time.Hour
	DefaultCatchupWindow = 24 * time.Hour
	DefaultCatchupLimit  = 100
	MaxCatchupLimit      = 10_000
	DefaultZone          = "UTC"
)

// Misfire is the policy for instants that passed while no server could fire
// them. The numbers are part of the disk format.
type Misfire uint8

// The policies of misfires.
const (
	FireOnce Misfire = iota // one run, for the latest
	SkipMissed
	FireAll // each, up to CatchupLimit of the latest
)

// Overlap is the policy for an instant that comes while an occurrence is
// unfinished. The numbers are part of the disk format.
type Overlap uint8

// The policies of overlaps.
const (
	AllowOverlap Overlap = iota
	SkipOverlap
	BufferOne // one occurrence waits for the end of the earlier ones
)

var (
	misfireNames = [...]string{FireOnce: "fire_once", SkipMissed: "skip", FireAll: "fire_all"}
	overlapNames = [...]string{AllowOverlap: "allow", SkipOverlap: "skip", BufferOne: "buffer_one"}
)

// String returns the policy's word, as it stands in JSON.
func (m Misfire) String() string { return misfireNames[min(int(m), len(misfireNames)-1)] }

// String returns the policy's word, as it stands in JSON.
func (o Overlap) String() string { return overlapNames[min(int(o), len(overlapNames)-1)] }

// ParseMisfire is the inverse of String.
func ParseMisfire(word string) (Misfire, bool) {
	i := slices.Index(misfireNames[:], word)
	return Misfire(max(i, 0)), i >= 0
}

// ParseOverlap is the inverse of String.
func ParseOverlap(word string) (Overlap, bool) {
	i := slices.Index(overlapNames[:], word)
	return Overlap(max(i, 0)), i >= 0
}

// Skip holds instants that made no occurrence, and the reason.
type Skip struct {
	Span
	Why string // one of the words below
}

// The reasons why instants made no occurrence.
const (
	SkippedMisfire = "misfire"        // missed; the policy of misfires skips them
	SkippedWindow  = "catchup_window" // missed longer ago than CatchupWindow
	SkippedLimit   = "catchup_limit"  // missed, and above CatchupLimit
	SkippedQuota   = "quota"          // the namespace had reached its quota of pending tasks or bytes
	SkippedOverlap = "overlap"        // an occurrence was unfinished
)

// IsSchedule reports whether t is the record of a schedule. A schedule has a
// Recurrence, and a task has none: a field for the kind could contradict that.
func (t *Task) IsSchedule() bool { return t.Recur != nil }

// ScheduleName returns the name of t if t is a schedule, and "" for a task.
func (t *Task) ScheduleName() string {
	if !t.IsSchedule() {
		return ""
	}
	return t.Name[1:]
}

// Ended reports whether the schedule has no more instants.
func (r *Recurrence) Ended() bool {
	return r.Next == 0 && r.Waiting == 0 && !r.Paused && r.Problem == ""
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

// EndedEntry returns the entry that a store passes to its watcher when old, an
// occurrence, becomes t and ends. The entry is the schedule's, with the hint
// OccurrenceEnded. EndedEntry returns false if the schedule does not wait for
// the end.
func EndedEntry(old, t *Task) (Entry, bool) {
	if old == nil || t == nil || !t.Awaited || !old.State.Live() || t.State.Live() {
		return Entry{}, false
	}
	name, _, ok := OccurrenceOf(t.Name)
	return Entry{Name: "@" + name, Lane: ScheduleLane(t.Namespace), Hint: OccurrenceEnded}, ok
}

// Unfinished returns the counter key under which a store counts the unfinished
// occurrences of a schedule, as if it were a queue, and the change of that
// count when old becomes t. Either may be nil. The number is counted as
// Scheduled. Fire needs it, so each change updates it in its batch, as it
// updates all counts.
func Unfinished(old, t *Task) (line QueueKey, change int64) {
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
	return ScheduleKey(r.Namespace, schedule).UnfinishedLine(), change
}

// UnfinishedLine returns the counter key of the schedule whose record has the
// key k.
func (k Key) UnfinishedLine() QueueKey { return QueueKey{Namespace: k.Namespace, Queue: k.Name} }

// OfOccurrences reports whether k is the counter key of a schedule's unfinished
// occurrences, and not a queue.
func (k QueueKey) OfOccurrences() bool { return len(k.Queue) > 1 && k.Queue[0] == '@' }
