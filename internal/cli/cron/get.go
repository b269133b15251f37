package cron

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
)

type getCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

func (getCmd) Help() string {
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

func (c *getCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	s, err := api.Schedules.Get(ctx, c.Name)
	if err != nil {
		return err
	}
	if con.JSON {
		return con.Object(s)
	}
	shown := describeSchedule(s)
	runs, complete, err := lastRuns(ctx, api, s.Name)
	for _, t := range runs {
		shown.Add("run", runWords(t))
	}
	if err := errors.Join(err, shown.Print(con)); err != nil {
		return err
	}
	if !complete {
		con.Notef("the schedule has too many tasks to find all of the last runs: foliot ls --schedule %s --due-after -1h lists recent ones", s.Name)
	}
	return nil
}

func describeSchedule(s *client.Schedule) (r console.Rows) {
	r.Add("name", s.Name)
	r.Add("id", s.ID)
	r.Add("state", scheduleState(s))
	r.Add("problem", s.Problem)
	r.Add("held by", s.Held)
	r.Add("rule", ruleWords(&s.ScheduleSpec))
	r.Add("fires", s.Words)
	r.Add("next", wording.InstantOr(s.NextAt, ""))
	r.Add("waiting", wording.InstantOr(s.WaitingAt, ""))
	r.Add("last", wording.InstantOr(s.LastAt, ""))
	r.Add("paused since", wording.InstantOr(s.PausedAt, ""))
	runs := strconv.FormatInt(s.Runs, 10)
	if s.MaxRuns != 0 {
		runs += fmt.Sprintf(" of %d", s.MaxRuns)
	}
	r.Add("runs", runs)
	if k := s.LastSkipped; k != nil {
		span := wording.Instant(k.From)
		if !k.From.Equal(k.Until) {
			span += " to " + wording.Instant(k.Until)
		}
		r.Add("skipped", span+" ("+strings.ReplaceAll(k.Why, "_", " ")+")")
	}
	r.Add("start", wording.InstantOr(s.Start, ""))
	r.Add("end", wording.InstantOr(s.End, ""))
	r.Add("jitter", wording.Duration(s.Jitter))
	r.Add("missed", missedWords(&s.ScheduleSpec))
	r.Add("overlap", string(s.Overlap))
	if e, err := cron.Parse(s.Cron); err == nil && e.Fixed() { // clock changes skip or repeat only fixed times of the day
		r.Add("dst gap", s.DSTGap)
		r.Add("dst overlap", s.DSTOverlap)
	}
	delivery.AddRequest(&r, &s.Task)
	delivery.AddLimits(&r, &s.Task)
	r.Add("managed by", s.ManagedBy)
	delivery.AddAuthors(&r, s.CreatedAt, &s.Authors)
	return r
}

func missedWords(s *client.ScheduleSpec) string {
	var window time.Duration
	if s.CatchupWindow != nil {
		window = *s.CatchupWindow
	}
	switch s.Missed {
	case client.SkipMissed:
		return string(s.Missed)
	case client.FireAll:
		return fmt.Sprintf("%s, the latest %d of %v", s.Missed, s.CatchupLimit, wording.Span(window))
	}
	return fmt.Sprintf("%s, within %v", s.Missed, wording.Span(window))
}
