package cron

import (
	"cmp"
	"context"
	"strconv"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Commands has the commands of foliot cron.
type Commands struct {
	Add      addCmd      `cmd:"" aliases:"create" help:"Create a schedule: call a URL repeatedly."`
	Set      setCmd      `cmd:"" help:"Change single fields of a schedule, or pause it."`
	Ls       lsCmd       `cmd:"" aliases:"list" help:"List schedules with their next instants and URLs."`
	Get      getCmd      `cmd:"" aliases:"show" help:"Show one schedule and its last runs."`
	Preview  previewCmd  `cmd:"" help:"Show when a schedule or an expression fires."`
	Trigger  triggerCmd  `cmd:"" help:"Create a task of a schedule now."`
	Backfill backfillCmd `cmd:"" help:"Create the tasks of a past time range."`
	Rm       rmCmd       `cmd:"" aliases:"delete" help:"Remove schedules. Their tasks stay."`
	Import   importCmd   `cmd:"" help:"Create schedules from a crontab."`
}

type lsCmd struct {
	Label []string `sep:"none" placeholder:"KEY=VALUE" help:"Only schedules that give their tasks this label. If repeated, all labels must match."`
}

func (lsCmd) Help() string {
	return `Lists schedules by name: name, state (active, held, paused, ended or stuck), next instant, number of instants that created a task, rule, and
URL or kind. foliot ls --schedule NAME lists the tasks of a schedule. A task is named after its schedule and its instant, such as
nightly@1732309200000.

Examples:

    foliot cron ls
    foliot cron ls --label tenant=acme -o json | jq 'select(.state == "paused")'`
}

func (c *lsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	labels, err := flags.ParseLabels(c.Label)
	if err != nil {
		return err
	}
	err = console.List(con, []string{"NAME", "STATE", "NEXT", "RUNS", "RULE", "URL"}, api.Schedules.List(ctx, client.ScheduleQuery{Labels: labels}), func(s *client.Schedule) []string {
		return []string{s.Name, scheduleState(s), wording.InstantOr(s.NextAt, "-"), strconv.FormatInt(s.Runs, 10), ruleWords(&s.ScheduleSpec), wording.URLOrKind(s.Task.HTTP.URL, s.Task.Work.Kind)}
	})
	if err == nil {
		con.NoteIfEmpty()
	}
	return err
}

func scheduleState(s *client.Schedule) string {
	if s.Problem != "" {
		return "stuck"
	}
	if s.Held != "" {
		return "held"
	}
	return string(s.State)
}

func ruleWords(s *client.ScheduleSpec) string {
	if s.Cron == "" {
		return "every " + wording.Span(s.Every)
	}
	return s.Cron + " " + cmp.Or(s.TimeZone, recurrence.DefaultZone)
}
