package client

import (
	"strconv"
	"time"
)

// ScheduleSpec is a schedule as it is asked for: when it makes tasks, and which. Zero fields have their defaults. It marshals to the
// API's JSON and back.
type ScheduleSpec struct {
	// Cron is when it fires: minute, hour, day of month, month, day of week, or six fields with the second before them, or a word such as
	// @daily. Exactly one of Cron and Every is given.
	Cron string
	// TimeZone is whose clocks Cron is about, a name such as Europe/Berlin. Default: UTC.
	TimeZone string
	// DSTGap is what becomes of a fixed time of the day that a day does not have: "next", it comes when the gap ends, or "skip". Default: next.
	DSTGap string
	// DSTOverlap is what becomes of one that a day has twice: "first" or "both". Default: first.
	DSTOverlap string
	// Every is from one instant to the next, counted from Start, or from when the schedule was made; at least 1s.
	Every time.Duration

	// Anchor is what Every counts from if there is no Start. With Cron or Start it says nothing. Only a Put that makes the schedule takes it;
	// one that exists keeps its own, or counts from the Put that changes Every. Default: when the schedule is made.
	Anchor time.Time

	Start   time.Time     // no instant lies before; zero: no bound
	End     time.Time     // no instant lies after; zero: no bound
	MaxRuns int64         // it ends when so many instants have made a task; 0: no limit
	Jitter  time.Duration // each task is due up to that much later than its instant

	// Misfire is what becomes of instants that passed while nobody could fire them. Default: FireOnce.
	Misfire Misfire
	// CatchupWindow is how long ago an instant may have been missed and still be made up for. nil: 24h; 0: none is.
	CatchupWindow *time.Duration
	// CatchupLimit is how many instants FireAll makes up for, the latest ones. Default: 100.
	CatchupLimit int
	// Overlap is what happens at an instant while a task of the schedule is unfinished. Default: AllowOverlap.
	Overlap Overlap

	// SetRuns is how many of MaxRuns are used up, for a schedule that comes from elsewhere. Only a Put that makes the schedule takes it; one that
	// exists keeps its own count. nil: none.
	SetRuns *int64
	// Paused lets it make no tasks. nil: as it is; a new one is not paused.
	Paused *bool
	// Task is what its tasks are. Name, At and Delay are the schedule's to say: a Task that has one is refused. What is left open is
	// filled in from the queue when the schedule is put.
	Task Spec
}

// Misfire is what becomes of instants that passed while nobody could fire them.
type Misfire string

// The policies of misfires.
const (
	FireOnce   Misfire = "fire_once" // the latest of them makes a task
	SkipMissed Misfire = "skip"      // none does
	FireAll    Misfire = "fire_all"  // each does, up to CatchupLimit
)

// Overlap is what happens at an instant while a task of the schedule is unfinished.
type Overlap string

// The policies of overlaps.
const (
	AllowOverlap Overlap = "allow"
	SkipOverlap  Overlap = "skip"       // it makes no task
	BufferOne    Overlap = "buffer_one" // it waits for the end of those before; one does, others make no task
)

// ScheduleState is what a schedule is doing. A newer server may know more of them.
type ScheduleState string

// The states of a schedule.
const (
	ScheduleActive ScheduleState = "active"
	SchedulePaused ScheduleState = "paused"
	ScheduleEnded  ScheduleState = "ended" // no instant is left
)

// Schedule is a schedule as the server shows it. It marshals to the API's JSON and back. The body of Task is shown by Get, and by a
// List that asks for bodies; everywhere else BodySize alone tells of it.
type Schedule struct {
	ScheduleSpec

	Name        string
	ID          string // new when the schedule is made; a change keeps it
	State       ScheduleState
	Words       string    // when it fires, as a sentence
	NextAt      time.Time // the next instant; zero: it is paused, or has ended
	LastAt      time.Time // the last instant that made a task, or let one wait, by the rule that it has now; zero: none
	PausedAt    time.Time
	Runs        int64            // how many instants have made a task, with the one that waits
	WaitingAt   time.Time        // the instant whose task waits (BufferOne); zero: none
	LastSkipped *SkippedInstants // the last that made no task; nil: none
	Problem     string           // why it cannot be followed now; empty: it can
	BodySize    int
	Version     uint64 // counts what clients changed
	CreatedAt   time.Time
	Durability  string // in the reply to a change: the loss that it survives. "synced": a power loss; "async", "default" and "strict": the level of a shared store that it reached
}

// ETag returns the entity tag that IfMatch takes.
func (s *Schedule) ETag() string { return `"` + s.ID + "." + strconv.FormatUint(s.Version, 10) + `"` }

// SkippedInstants are instants that follow each other, both ends included, and made no task.
type SkippedInstants struct {
	From  time.Time
	Until time.Time
	Why   string // "misfire", "catchup_window", "catchup_limit", "quota" or "overlap"
}

// Instant is when a schedule fires.
type Instant struct {
	At    time.Time // in UTC
	Local time.Time // the same, in the schedule's time zone
}

// BackfillResult is what a backfill did.
type BackfillResult struct {
	Created    int    `json:"created"`              // tasks that were made, due now
	Existing   int    `json:"existing"`             // those that the same backfill had made before
	Instants   int    `json:"instants"`             // the sum of both
	Durability string `json:"durability,omitempty"` // as a Schedule's
}
