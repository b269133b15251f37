package client

import (
	"strconv"
	"time"
)

// ScheduleSpec describes a schedule: when it creates tasks, and which; zero
// fields have their defaults.
type ScheduleSpec struct {
	// Cron sets the instants: minute, hour, day of month, month, day of week,
	// or six fields with the second first, or a word such as @daily. Set
	// exactly one of Cron and Every.
	Cron string
	// TimeZone is the time zone of Cron, such as Europe/Berlin. Default: UTC.
	TimeZone string
	// DSTGap is the policy for a time of the day that a day does not have.
	// "next" fires when the gap ends, "skip" does not fire. Default: "next".
	DSTGap string
	// DSTOverlap is the policy for a time that a day has twice: "first" or
	// "both". Default: "first".
	DSTOverlap string
	// Every is the time between instants, counted from Start, or from when the
	// schedule was created; it is at least 1s.
	Every time.Duration

	// Anchor is the time from which Every counts unless Cron or Start is set.
	// Only a Put that creates the schedule uses it: an existing schedule keeps
	// its own, or counts from the Put that changes Every. Default: when the
	// schedule is created.
	Anchor time.Time

	Start   time.Time     // inclusive: no instant is before it. Zero means no bound
	End     time.Time     // inclusive: no instant is after it. Zero means no bound
	MaxRuns int64         // the schedule ends after this many instants created a task. Zero means no limit
	Jitter  time.Duration // each task is due up to this much after its instant. Zero means none

	// Missed is the policy for instants that passed while no server could fire
	// them. Default: FireOnce.
	Missed Missed
	// CatchupWindow limits the age of missed instants that still create a task;
	// nil means 24h, and a pointer to 0 means that no missed instant creates
	// one.
	CatchupWindow *time.Duration
	// CatchupLimit is the number of missed instants for which FireAll creates a
	// task: the latest ones. Default: 100.
	CatchupLimit int
	// Overlap is the policy for an instant at which a task of the schedule is
	// unfinished. Default: AllowOverlap.
	Overlap Overlap

	// SetRuns is the number of MaxRuns that are used up, for a schedule that is
	// moved from another server. Only a Put that creates the schedule uses it,
	// while an existing schedule keeps its count.
	SetRuns int64
	// Paused stops the schedule from creating tasks. nil means unchanged, which
	// for a new schedule is not paused.
	Paused *bool
	// ManagedBy is the owner for foliot apply --prune, and a Put without it
	// keeps the present owner.
	ManagedBy string
	// Task is the template for the tasks this schedule creates. A Task with a
	// Name, At or Delay is refused, because the schedule sets them. Zero fields
	// get the queue's defaults at the Put.
	Task Spec
}

// Missed is the policy for instants that passed while no server could fire
// them; the zero Missed is FireOnce.
type Missed string

// The policies of missed instants.
const (
	FireOnce   Missed = "fire_once" // the latest of them creates a task
	SkipMissed Missed = "skip"      // none of them does
	FireAll    Missed = "fire_all"  // each of them does, up to CatchupLimit
)

// Overlap is the policy for an instant at which a task of the schedule is
// unfinished; the zero Overlap is AllowOverlap.
type Overlap string

// The policies of overlaps.
const (
	AllowOverlap Overlap = "allow"
	SkipOverlap  Overlap = "skip"       // the instant creates no task
	BufferOne    Overlap = "buffer_one" // one instant waits until they have finished; more create no task
)

// ScheduleState is the state of a schedule, and a newer server may have more
// states.
type ScheduleState string

// The states of a schedule.
const (
	ScheduleActive ScheduleState = "active"
	SchedulePaused ScheduleState = "paused"
	ScheduleEnded  ScheduleState = "ended" // no instant is left
)

// Schedule is a schedule as the server returns it. Get, and a List with Bodies,
// return the body of Task, while all other methods return BodySize only.
type Schedule struct {
	ScheduleSpec

	Name        string
	ID          string // new for each created schedule; changes keep it
	State       ScheduleState
	Words       string    // its rule as a sentence
	NextAt      time.Time // the next instant; zero: it is paused, or has ended
	Held        string    // why an active schedule sends no request at NextAt, as UpcomingItem.Held; "": it does
	LastAt      time.Time // the last instant of its present rule that created a task, or waits to; zero: none
	PausedAt    time.Time
	Runs        int64            // number of instants that created a task, including one that waits
	WaitingAt   time.Time        // the instant that waits (BufferOne); zero: none
	LastSkipped *SkippedInstants // the last instants that created no task; nil: none
	Problem     string           // why it cannot fire now; empty: it can
	Hidden      bool             // the namespace hides the body and the headers of Task from the token
	BodySize    int
	Version     uint64 // counts changes by clients
	CreatedAt   time.Time
	Authors
	Durability string // in the reply to a change: "synced" survives a power loss; "async", "default" and "strict" are levels of a shared store
}

// ETag returns the entity tag for IfMatch.
func (s *Schedule) ETag() string { return `"` + s.ID + "." + strconv.FormatUint(s.Version, 10) + `"` }

// SkippedInstants are consecutive instants, both ends included, that created no
// task.
type SkippedInstants struct {
	From  time.Time
	Until time.Time
	Why   string // "missed", "catchup_window", "catchup_limit", "quota" or "overlap"
}

// Instant is a point in time at which a schedule fires.
type Instant struct {
	At    time.Time // in UTC
	Local time.Time // the same time in the schedule's time zone
}

// BackfillResult counts the tasks of a backfill.
type BackfillResult struct {
	Created    int    `json:"created"`              // tasks that were created, due now
	Existing   int    `json:"existing"`             // tasks that the same backfill created before
	Instants   int    `json:"instants"`             // the sum of both
	Durability string `json:"durability,omitempty"` // as in Schedule
}
