package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
)

type cronGetCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

// Help shows examples below the usage line.
func (cronGetCmd) Help() string {
	return `Shows what was asked for, when it fires next, and what it has done: the last instant that made a task, and the last ones that made none, with
the reason; and how its last five runs ended: the task that each was, whose attempts foliot get TASK shows, the instant that it stands for, or when it
was triggered, its state, and of the last attempt its number, the status, and how late it began. A task is shown for as long as it is kept (--keep-finished,
--keep-dead). All of them are in foliot ls --schedule NAME. With -o json it is the schedule alone.

Examples:

    foliot cron get nightly
    foliot cron get nightly -o json | jq .last_skipped`
}

// Run prints the schedule.
func (c *cronGetCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if err := checkSchedules(c.Name); err != nil {
		return err
	}
	s, err := api.Schedules.Get(ctx, c.Name)
	if err != nil {
		return err
	}
	if con.json {
		return con.object(s)
	}
	shown := describeSchedule(s)
	runs, complete, err := lastRuns(ctx, api, s, time.Now())
	for _, t := range runs {
		shown.add("run", runWords(t))
	}
	if err := errors.Join(err, shown.print(con)); err != nil {
		return err
	}
	if !complete {
		con.notef("it has made too many tasks to look for the last ones: foliot ls --schedule %s --due-after -1h", s.Name)
	}
	return nil
}

// describeSchedule returns a schedule as rows.
func describeSchedule(s *client.Schedule) (r rows) {
	r.add("name", s.Name)
	r.add("id", s.ID)
	r.add("state", scheduleState(s))
	r.add("problem", s.Problem)
	r.add("rule", ruleWords(&s.ScheduleSpec))
	r.add("fires", s.Words)
	r.add("next", wording.InstantOr(s.NextAt, ""))
	r.add("waiting", wording.InstantOr(s.WaitingAt, ""))
	r.add("last", wording.InstantOr(s.LastAt, ""))
	r.add("paused since", wording.InstantOr(s.PausedAt, ""))
	r.add("runs", runsWords(s))
	if k := s.LastSkipped; k != nil {
		r.add("skipped", wording.Skipped(k))
	}
	r.add("start", wording.InstantOr(s.Start, ""))
	r.add("end", wording.InstantOr(s.End, ""))
	r.add("jitter", durationWords(s.Jitter))
	r.add("misfire", misfireWords(&s.ScheduleSpec))
	r.add("overlap", string(s.Overlap))
	if fixedTimes(s.Cron) {
		r.add("dst gap", s.DSTGap)
		r.add("dst overlap", s.DSTOverlap)
	}
	r.addRequest(&s.Task)
	r.addLimits(&s.Task)
	r.add("created", wording.Instant(s.CreatedAt))
	return r
}

// fixedTimes reports whether an expression names times of the day, of which alone a day may have none or two.
func fixedTimes(expression string) bool {
	e, err := cron.Parse(expression)
	return err == nil && e.Fixed()
}

func runsWords(s *client.Schedule) string {
	if s.MaxRuns == 0 {
		return count(s.Runs)
	}
	return fmt.Sprintf("%d of %d", s.Runs, s.MaxRuns)
}

// misfireWords is what a schedule makes up for.
func misfireWords(s *client.ScheduleSpec) string {
	var window time.Duration
	if s.CatchupWindow != nil {
		window = *s.CatchupWindow
	}
	switch s.Misfire {
	case client.SkipMissed:
		return string(s.Misfire)
	case client.FireAll:
		return fmt.Sprintf("%s, the latest %d of %v", s.Misfire, s.CatchupLimit, window)
	}
	return fmt.Sprintf("%s, within %v", s.Misfire, window)
}
