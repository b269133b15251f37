package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	return `Shows a schedule: its settings, its next instant, the last instant that created a task, and the last instants that were skipped, with
the reason.

It also shows the last five runs: the task, its instant or the time of its trigger, its state, and for its last attempt the
number, the status and the lateness. foliot get TASK shows all attempts of a task, and foliot ls --schedule NAME lists all
tasks of the schedule. Tasks are shown as long as they are kept (--keep-finished, --keep-dead). With -o json, only the schedule
is printed.

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
		con.notef("the schedule has too many tasks to find the last runs: foliot ls --schedule %s --due-after -1h lists recent ones", s.Name)
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
	r.add("jitter", wording.Duration(s.Jitter))
	r.add("misfire", misfireWords(&s.ScheduleSpec))
	r.add("overlap", string(s.Overlap))
	if fixedTimes(s.Cron) {
		r.add("dst gap", s.DSTGap)
		r.add("dst overlap", s.DSTOverlap)
	}
	addRequest(&r, &s.Task)
	addLimits(&r, &s.Task)
	r.add("created", wording.Instant(s.CreatedAt))
	return r
}

// fixedTimes reports whether an expression names fixed times of the day. Only
// those can be skipped or repeated when clocks change.
func fixedTimes(expression string) bool {
	e, err := cron.Parse(expression)
	return err == nil && e.Fixed()
}

func runsWords(s *client.Schedule) string {
	if s.MaxRuns == 0 {
		return strconv.FormatInt(s.Runs, 10)
	}
	return fmt.Sprintf("%d of %d", s.Runs, s.MaxRuns)
}

// misfireWords describes how a schedule treats missed instants.
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
