package cli

import (
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// clockFlags say whose clocks an expression is about.
type clockFlags struct {
	Timezone   string `placeholder:"ZONE" help:"Whose clocks the expression is about: Europe/Berlin, America/New_York (default: UTC)."`
	DSTGap     string `name:"dst-gap" placeholder:"next|skip" help:"A fixed time that a day does not have, because clocks are put forward over it, comes when the gap ends, or not at all (default: next)."`
	DSTOverlap string `name:"dst-overlap" placeholder:"first|both" help:"A fixed time that a day has twice, because clocks are put back over it, comes the first time, or both (default: first)."`
}

// given reports whether any of them is.
func (f *clockFlags) given() bool { return *f != clockFlags{} }

// ruleFlags say when a schedule fires, beside its expression.
type ruleFlags struct {
	clockFlags

	Every string `placeholder:"DURATION" help:"Instead of an expression: each time this long has passed, from --start or from now on; at least 1s."`

	Start   string `placeholder:"TIME" help:"Not before: 2030-01-02T15:04:05Z, a date, whose midnight in --timezone it is, or a duration from now. With --every it is the first instant."`
	End     string `placeholder:"TIME" help:"Not after."`
	MaxRuns *int64 `placeholder:"N" help:"End when so many instants have made a task; 0: no limit (default: 0)."`
	Jitter  string `placeholder:"DURATION" help:"Spread the tasks: each is due up to this much after its instant, the same for the same instant; at most 24h (default: 0s)."`

	Misfire       string `placeholder:"fire_once|skip|fire_all" help:"Instants that passed while nobody could fire them: the latest makes a task, none does, or each does (default: fire_once)."`
	CatchupWindow string `placeholder:"DURATION" help:"What was missed longer ago makes no task, whatever --misfire says; 0s: nothing is made up for (default: 24h)."`
	CatchupLimit  *int   `placeholder:"N" help:"How many fire_all makes up for, the latest ones, at most 10000 (default: 100)."`
	Overlap       string `placeholder:"allow|skip|buffer_one" help:"At an instant while a task of the schedule is unfinished, be it that it waits for a retry: make another, make none, or make one when that has ended (default: allow)."`
}

// fill writes what the flags say into a schedule.
func (f *ruleFlags) fill(s *client.ScheduleSpec, now time.Time) error {
	if f.Timezone != "" {
		if _, err := cron.LoadZone(f.Timezone); err != nil {
			return usage.Errorf("--timezone", "%s", err)
		}
	}
	if n := f.CatchupLimit; n != nil && *n == 0 {
		return usage.Errorf("--catchup-limit", "it lies between 1 and %d; --catchup-window 0s makes up for nothing", task.MaxCatchupLimit)
	}
	s.TimeZone, s.DSTGap, s.DSTOverlap = f.Timezone, f.DSTGap, f.DSTOverlap
	set(&s.MaxRuns, f.MaxRuns)
	set(&s.CatchupLimit, f.CatchupLimit)
	s.Misfire, s.Overlap = client.Misfire(f.Misfire), client.Overlap(f.Overlap)
	var window time.Duration
	for _, of := range []struct {
		flag, value string
		into        *time.Duration
	}{
		{"--every", f.Every, &s.Every},
		{"--jitter", f.Jitter, &s.Jitter},
		{"--catchup-window", f.CatchupWindow, &window},
	} {
		if of.value == "" {
			continue
		}
		d, err := parseDuration(of.flag, of.value)
		switch {
		case err != nil:
			return err
		case d == 0 && of.into == &s.Every:
			return usage.Errorf(of.flag, "%q is too short: it is at least 1s", of.value)
		case of.into == &window:
			s.CatchupWindow = &window
		}
		*of.into = d
	}
	return f.bounds(s, now)
}

func (f *ruleFlags) bounds(s *client.ScheduleSpec, now time.Time) (err error) {
	for _, b := range []bound{{"--start", f.Start, &s.Start}, {"--end", f.End, &s.End}} {
		if b.value == "" {
			continue
		}
		if *b.into, err = parseDay(b.flag, b.value, now, zoneNamed(f.Timezone)); err != nil {
			return err
		}
	}
	return nil
}
