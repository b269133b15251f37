package foliot

import (
	"cmp"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Rule describes when a schedule creates tasks. The functions Cron and Every
// return a Rule with defaults, which the other fields change.
type Rule struct {
	// Cron is a cron expression: five fields (minute, hour, day of month, month,
	// day of week), six with the second first, or a word such as @daily or
	// @every 90s. Exactly one of Cron and Every must be set.
	Cron string
	// TimeZone is the time zone of Cron, such as Europe/Berlin. Default: UTC.
	TimeZone string
	// SkipGaps skips an instant at a time of day that a clock change leaves out;
	// by default, the schedule fires when the gap ends. BothFolds fires twice at
	// a time of day that a clock change repeats, and not once.
	SkipGaps, BothFolds bool
	// Every is the time between instants, at least 1s. It counts from Start, or
	// from the creation of the schedule if Start is zero.
	Every time.Duration

	Start, End time.Time     // the first and the last possible instant; zero: no bound
	MaxRuns    int64         // the number of tasks after which the schedule ends; zero: no limit
	Jitter     time.Duration // each task is due at a random time, at most this long after its instant

	// Missed decides about instants that passed while no process ran. Default:
	// FireOnce. CatchupWindow is the maximum age of these instants: older ones
	// create no tasks. Zero means 24h, and with a negative value, no missed
	// instant creates a task. CatchupLimit is the maximum number of tasks that
	// FireAll creates. Default: 100.
	Missed        Missed
	CatchupWindow time.Duration
	CatchupLimit  int
	// Overlap decides about an instant at which an earlier task of the schedule
	// has not ended. Default: AllowOverlap.
	Overlap Overlap
}

// Missed decides about instants that passed while no process ran.
type Missed uint8

// The decisions about missed instants.
const (
	FireOnce   Missed = iota // the latest instant creates a task
	SkipMissed               // no missed instant creates a task
	FireAll                  // each instant creates a task, up to CatchupLimit
)

// Overlap decides about an instant at which an earlier task of the schedule has
// not ended.
type Overlap uint8

// The decisions about overlaps.
const (
	AllowOverlap Overlap = iota // the tasks run side by side
	SkipOverlap                 // the instant creates no task
	BufferOne                   // one instant waits for the end of the earlier task; further instants create no task
)

// Cron returns a rule with a cron expression in a time zone, or in UTC if
// timezone is empty.
func Cron(expression, timezone string) Rule { return Rule{Cron: expression, TimeZone: timezone} }

// Every returns a rule with an instant every d, as Rule.Every describes.
func Every(d time.Duration) Rule { return Rule{Every: d} }

// stored returns r as the store has it.
func (r Rule) stored() (recurrence.Rule, error) {
	out := recurrence.Rule{
		Zone: r.TimeZone, Every: r.Every, MaxRuns: r.MaxRuns, Jitter: r.Jitter,
		Missed: recurrence.Missed(r.Missed), Overlap: recurrence.Overlap(r.Overlap), // in the same order there
		CatchupWindow: max(cmp.Or(r.CatchupWindow, recurrence.DefaultCatchupWindow), 0),
		CatchupLimit:  cmp.Or(r.CatchupLimit, recurrence.DefaultCatchupLimit),
	}
	switch {
	case r.Missed > FireAll:
		return out, invalid("Rule.Missed must be FireOnce, SkipMissed or FireAll")
	case r.Overlap > BufferOne:
		return out, invalid("Rule.Overlap must be AllowOverlap, SkipOverlap or BufferOne")
	}
	if r.Cron != "" {
		if err := out.SetCron(r.Cron); err != nil {
			return out, invalid("%v", err)
		}
	}
	if r.SkipGaps && out.Cron != "" {
		out.Gap = cron.GapSkip
	}
	if r.BothFolds && out.Cron != "" {
		out.Fold = cron.OverlapBoth
	}
	if out.Cron != "" {
		out.Zone = cmp.Or(r.TimeZone, recurrence.DefaultZone)
	}
	if !r.Start.IsZero() {
		out.Start = task.CeilMillis(r.Start)
	}
	if !r.End.IsZero() {
		out.End = task.FloorMillis(r.End)
	}
	return out, nil
}
