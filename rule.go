package foliot

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Rule is when a schedule creates tasks. Cron and Every make one. Its fields
// have defaults.
type Rule struct {
	// Cron is the expression: minute, hour, day of month, month, day of week, or
	// six fields with the second first, or a word such as @daily. Exactly one of
	// Cron and Every is set.
	Cron string
	// Zone is the time zone of Cron, such as Europe/Berlin. Default: UTC.
	Zone string
	// SkipGaps skips a time of the day that a clock change leaves out. Default:
	// the schedule fires when the gap ends. BothFolds fires twice at a time that
	// a clock change repeats. Default: once.
	SkipGaps, BothFolds bool
	// Every is the time between instants, counted from Start, or from when the
	// schedule was created. At least 1s.
	Every time.Duration

	Start, End time.Time     // the first and the last possible instant; zero: no bound
	MaxRuns    int64         // the number of tasks after which the schedule ends; zero: no limit
	Jitter     time.Duration // each task is due up to this much after its instant

	// Missed decides about instants that passed while no process ran. Default:
	// FireOnce. CatchupWindow limits their age: zero means 24h, and a negative
	// value that no missed instant creates a task. CatchupLimit is the number of
	// tasks that FireAll creates. Default: 100.
	Missed        Missed
	CatchupWindow time.Duration
	CatchupLimit  int
	// Overlap decides about an instant at which a task of the schedule is
	// unfinished. Default: AllowOverlap.
	Overlap Overlap
}

// Missed decides about instants that passed while no process ran.
type Missed uint8

// The decisions about missed instants.
const (
	FireOnce   Missed = Missed(recurrence.FireOnce)   // the latest of them creates a task
	SkipMissed Missed = Missed(recurrence.SkipMissed) // none of them does
	FireAll    Missed = Missed(recurrence.FireAll)    // each of them does, up to CatchupLimit
)

// Overlap decides about an instant at which a task of the schedule is
// unfinished.
type Overlap uint8

// The decisions about overlaps.
const (
	AllowOverlap Overlap = Overlap(recurrence.AllowOverlap) // the tasks run side by side
	SkipOverlap  Overlap = Overlap(recurrence.SkipOverlap)  // the instant creates no task
	BufferOne    Overlap = Overlap(recurrence.BufferOne)    // one instant waits for the end; more create no task
)

// Cron returns a rule with a cron expression in a time zone. An empty zone is
// UTC.
func Cron(expression, zone string) Rule { return Rule{Cron: expression, Zone: zone} }

// Every returns a rule with an instant after each d.
func Every(d time.Duration) Rule { return Rule{Every: d} }

func (r Rule) rule() recurrence.Rule {
	out := recurrence.Rule{
		Cron: r.Cron, Zone: r.Zone, Every: r.Every, MaxRuns: r.MaxRuns, Jitter: r.Jitter,
		Misfire: recurrence.Misfire(r.Missed), Overlap: recurrence.Overlap(r.Overlap),
		CatchupWindow: max(r.CatchupWindow, 0), CatchupLimit: r.CatchupLimit,
	}
	if r.SkipGaps {
		out.Gap = cron.GapSkip
	}
	if r.BothFolds {
		out.Fold = cron.OverlapBoth
	}
	if r.CatchupWindow == 0 {
		out.CatchupWindow = recurrence.DefaultCatchupWindow
	}
	if r.CatchupLimit == 0 {
		out.CatchupLimit = recurrence.DefaultCatchupLimit
	}
	if r.Cron != "" && r.Zone == "" {
		out.Zone = recurrence.DefaultZone
	}
	if !r.Start.IsZero() {
		out.Start = task.CeilMillis(r.Start)
	}
	if !r.End.IsZero() {
		out.End = task.FloorMillis(r.End)
	}
	return out
}
