package cli

import (
	"cmp"
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

type cronCmd struct {
	Add      cronAddCmd      `cmd:"" help:"Call a URL again and again: make a schedule."`
	Set      cronSetCmd      `cmd:"" help:"Change single fields of a schedule."`
	Ls       cronLsCmd       `cmd:"" help:"List schedules: when they fire next, and what they call."`
	Get      cronGetCmd      `cmd:"" help:"Show one schedule."`
	Preview  cronPreviewCmd  `cmd:"" help:"Show when a schedule, or an expression, fires."`
	Pause    cronPauseCmd    `cmd:"" help:"Let schedules make no tasks any more."`
	Resume   cronResumeCmd   `cmd:"" help:"Let paused schedules go on."`
	Trigger  cronTriggerCmd  `cmd:"" help:"Make a schedule's task now."`
	Backfill cronBackfillCmd `cmd:"" help:"Make the tasks of a time that has passed."`
	Rm       cronRmCmd       `cmd:"" help:"Remove schedules; the tasks that they made stay."`
	Import   cronImportCmd   `cmd:"" help:"Make schedules of a crontab."`
}

// checkSchedules refuses names that no schedule can have before anything is sent.
func checkSchedules(names ...string) error {
	for _, name := range names {
		if err := task.ValidateName("name", name); err != nil {
			return usage.Errorf("NAME", "%q: %s", name, detail(err))
		}
	}
	return nil
}

type cronLsCmd struct {
	Label []string `sep:"none" placeholder:"KEY=VALUE" help:"Only schedules whose tasks have this label. Repeat it: all must match."`
}

// Help shows examples below the usage line.
func (cronLsCmd) Help() string {
	return `Lists schedules in the order of their names: name, state (active, paused, ended), the next instant, how many instants have made a task,
the rule, and the URL. Their tasks are in foliot ls --schedule NAME, each named after its schedule and its instant: nightly@1732309200000.

Examples:

    foliot cron ls
    foliot cron ls --label tenant=acme -o json | jq 'select(.state == "paused")'`
}

// Run prints the list.
func (c *cronLsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	labels, err := parseLabels(c.Label)
	if err != nil {
		return err
	}
	return listing(con, []string{"NAME", "STATE", "NEXT", "RUNS", "RULE", "URL"}, api.Schedules.List(ctx, client.ScheduleQuery{Labels: labels}), func(s *client.Schedule) []string {
		return []string{s.Name, scheduleState(s), wording.InstantOr(s.NextAt, "-"), count(s.Runs), ruleWords(&s.ScheduleSpec), s.Task.HTTP.URL}
	})
}

// scheduleState is what a schedule does, in a word.
func scheduleState(s *client.Schedule) string {
	if s.Problem != "" {
		return "stuck"
	}
	return string(s.State)
}

// ruleWords is when a schedule fires, as it was asked for.
func ruleWords(s *client.ScheduleSpec) string {
	if s.Cron == "" {
		return "every " + s.Every.String()
	}
	return s.Cron + " " + cmp.Or(s.TimeZone, task.DefaultZone)
}
