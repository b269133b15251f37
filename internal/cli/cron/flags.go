package cron

import (
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/usage"
)

// clockFlags set the time zone of an expression.
type clockFlags struct {
	TimeZone   string `name:"timezone" placeholder:"ZONE" help:"The time zone of the expression, such as Europe/Berlin or America/New_York (default: UTC)."`
	DSTGap     string `name:"dst-gap" placeholder:"next|skip" help:"If the change to summer time skips a fixed time of the day: next fires when the gap ends, skip does not fire (default: next)."`
	DSTOverlap string `name:"dst-overlap" placeholder:"first|both" help:"If the change from summer time repeats a fixed time of the day: fire only the first time, or both times (default: first)."`
}

func (f *clockFlags) given() bool { return *f != clockFlags{} }

// ruleFlags describe when a schedule fires, except for its expression.
type ruleFlags struct {
	clockFlags

	Every string `placeholder:"DURATION" help:"Instead of an expression: fire at this interval, counted from --start or from now; at least 1s."`

	Start   string `placeholder:"TIME" help:"The earliest instant: 2030-01-02T15:04:05Z, a date (midnight in --timezone), or a duration from now. With --every it is the first instant."`
	End     string `placeholder:"TIME" help:"The latest instant, in the same forms as --start."`
	MaxRuns *int64 `placeholder:"N" help:"End the schedule when this many instants have created a task; 0: no limit (default: 0)."`
	Jitter  string `placeholder:"DURATION" help:"Delay each task by up to this much after its instant, always the same for the same instant; at most 24h (default: 0s)."`

	Missed        string `placeholder:"fire_once|skip|fire_all" help:"For instants that were missed, for example while no server was running: create a task for the latest, for none, or for each (default: fire_once)."`
	CatchupWindow string `placeholder:"DURATION" help:"Create no task for an instant that was missed longer ago than this, whatever the value of --missed; 0s: for none (default: 24h)."`
	CatchupLimit  *int   `placeholder:"N" help:"With fire_all, create tasks for at most this many missed instants, the latest ones; at most 10000 (default: 100)."`
	Overlap       string `placeholder:"allow|skip|buffer_one" help:"If a task of the schedule is unfinished at an instant, or waits for a retry: create another, create none, or create one when it has ended (default: allow)."`
}

func (f *ruleFlags) fill(s *client.ScheduleSpec, now time.Time) error {
	zone := zoneNamed(f.TimeZone)
	if n := f.CatchupLimit; n != nil && *n == 0 {
		return usage.Errorf("--catchup-limit", "0 is not between 1 and %d; to create no tasks for missed instants, pass --catchup-window 0s", recurrence.MaxCatchupLimit)
	}
	err := flags.Merge(s, f)
	if err == nil {
		s.Start, err = parseDay("--start", f.Start, now, zone)
	}
	if err == nil {
		s.End, err = parseDay("--end", f.End, now, zone)
	}
	return err
}
