package cron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type rmCmd struct {
	Names []string `arg:"" name:"name" help:"The schedules' names."`
}

func (rmCmd) Help() string {
	return `Removes schedules. Their tasks stay: waiting tasks are still delivered. To cancel those, use foliot cancel --schedule NAME.

Examples:

    foliot cron rm nightly`
}

func (c *rmCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return con.ForEachName(ctx, c.Names, func(name string) error {
		s, err := api.Schedules.Delete(ctx, name)
		if err != nil {
			return err
		}
		return con.Resultf(s, "removed %s", s.Name)
	})
}

type triggerCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	Wait bool   `help:"Wait until the task ends, and print the result. Exit with 6 if it was not delivered."`
}

func (triggerCmd) Help() string {
	return `Creates one task of the schedule, due now. This works also while the schedule is paused, and ignores --overlap. The next instant and
the number of runs of the schedule do not change.

Examples:

    foliot cron trigger nightly
    foliot cron trigger nightly --wait`
}

func (c *triggerCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	t, err := api.Schedules.Trigger(ctx, c.Name)
	if err != nil {
		return err
	}
	if !c.Wait {
		return con.Resultf(t, "created %s, due now", t.Name)
	}
	if !con.JSON {
		con.Linef("created %s, due now", wording.Printable(t.Name))
	}
	return delivery.Wait(ctx, con, api, t)
}

type backfillCmd struct {
	Name  string `arg:"" help:"The schedule's name."`
	From  string `required:"" placeholder:"TIME" help:"The start of the time range: 2026-11-20T20:00:00Z, a date (2026-11-20: midnight in the schedule's time zone), or a duration from now (-24h)."`
	Until string `default:"0s" placeholder:"TIME" help:"The end of the time range, in the same forms (default: now)."`
}

func (backfillCmd) Help() string {
	return `Creates a task for each instant of the schedule's rule in a time range, at most 1000. Both ends of the range are included. All tasks
are due now. In a queue of concurrency 1 they run in the order of their instants.

A task is created even if its instant has fired before. The same command with the same two times creates no task twice. The
command prints the two times, because "now" and "-24h" mean other times later. To see the instants first, use foliot cron
preview NAME --from TIME.

Examples:

    foliot cron backfill nightly --from 2026-11-01 --until 2026-11-08
    foliot cron backfill nightly --from 2026-11-01T20:00:00Z --until 2026-11-08T20:00:00Z`
}

func (c *backfillCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	now := time.Now().Truncate(time.Millisecond) // the precision that is printed
	zone := zoneOf(ctx, api, c.Name)
	from, err := parseDay("--from", c.From, now, zone)
	if err != nil {
		return err
	}
	until, err := parseDay("--until", c.Until, now, zone)
	if err != nil {
		return err
	}
	if until.Before(from) {
		return usage.Errorf("--until", "%s is before %s", wording.Instant(until), wording.Instant(from))
	}
	done, err := api.Schedules.Backfill(ctx, c.Name, from, until)
	if err != nil {
		noteRest(con, err, fmt.Sprintf("foliot cron backfill %s --from %s --until %s", c.Name, wording.Instant(from), wording.Instant(until)))
		return err
	}
	existing := ""
	if done.Existing > 0 {
		existing = fmt.Sprintf(", %d existed already", done.Existing)
	}
	return con.Resultf(done, "created %s of %s, %s to %s, due now%s", wording.Count(done.Created, "task"), c.Name, wording.Instant(from), wording.Instant(until), existing)
}

// noteRest prints the command that continues a backfill after err.
func noteRest(con *console.Console, err error, again string) {
	code := exit.CodeOf(err)
	switch {
	case code == exit.Unreachable, code == exit.Interrupted, client.MaybeApplied(err):
		con.Notef("some of the tasks may have been created; this command creates the others, and none twice: %s", again)
	case errors.Is(err, client.ErrQuota), errors.Is(err, client.ErrRateLimited), errors.Is(err, client.ErrFull):
		con.Notef("this command creates the other tasks later, and none twice: %s", again)
	}
}
