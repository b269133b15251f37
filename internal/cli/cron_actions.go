package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type cronPauseCmd struct {
	Names []string `arg:"" name:"name" help:"The schedules' names."`
}

// Help shows examples below the usage line.
func (cronPauseCmd) Help() string {
	return `A paused schedule makes no tasks; those that it made go on. It stays paused, also over a restart, until it is resumed, and then goes on with its
next instant: those in between are not made up for, but by foliot cron backfill.

Examples:

    foliot cron pause nightly
    foliot cron pause nightly hourly`
}

// Run pauses.
func (c *cronPauseCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return eachSchedule(ctx, con, c.Names, api.Schedules.Pause, func(s *client.Schedule) string {
		return s.Name + " is paused"
	})
}

type cronResumeCmd struct {
	Names []string `arg:"" name:"name" help:"The schedules' names."`
}

// Help shows examples below the usage line.
func (cronResumeCmd) Help() string {
	return `Lets paused schedules go on with their next instant.

Examples:

    foliot cron resume nightly`
}

// Run resumes.
func (c *cronResumeCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return eachSchedule(ctx, con, c.Names, api.Schedules.Resume, func(s *client.Schedule) string {
		if s.NextAt.IsZero() {
			return fmt.Sprintf("%s is %s", s.Name, scheduleState(s))
		}
		return fmt.Sprintf("%s goes on, next %s", s.Name, wording.Instant(s.NextAt))
	})
}

type cronRmCmd struct {
	Names []string `arg:"" name:"name" help:"The schedules' names."`
}

// Help shows examples below the usage line.
func (cronRmCmd) Help() string {
	return `Removes schedules. The tasks that they made stay: those that wait are still delivered, and foliot cancel takes them back.

Examples:

    foliot cron rm nightly`
}

// Run removes.
func (c *cronRmCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return eachSchedule(ctx, con, c.Names, api.Schedules.Delete, func(s *client.Schedule) string {
		return "removed " + s.Name
	})
}

// scheduleAct is one of the client's, on a schedule.
type scheduleAct func(ctx context.Context, name string, conds ...client.Condition) (*client.Schedule, error)

// eachSchedule does act to each name, as eachName does, and prints what became of it.
func eachSchedule(ctx context.Context, con *console, names []string, act scheduleAct, says func(*client.Schedule) string) error {
	if err := checkSchedules(names...); err != nil {
		return err
	}
	return eachName(ctx, con, names, func(name string) error {
		s, err := act(ctx, name)
		if err != nil {
			return err
		}
		if con.json {
			return con.object(s)
		}
		con.sayf("%s", wording.Printable(says(s)))
		return nil
	})
}

type cronTriggerCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	Wait bool   `help:"Wait for the task's end and print how it ended; exit 6 when it was not delivered."`
}

// Help shows examples below the usage line.
func (cronTriggerCmd) Help() string {
	return `Makes one task as the schedule makes them, due now; also while the schedule is paused, and whatever --overlap says. The schedule itself goes on
as it would: its next instant and its number of runs stay.

Examples:

    foliot cron trigger nightly
    foliot cron trigger nightly --wait`
}

// Run triggers.
func (c *cronTriggerCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if err := checkSchedules(c.Name); err != nil {
		return err
	}
	t, err := api.Schedules.Trigger(ctx, c.Name)
	if err != nil {
		return err
	}
	if !c.Wait {
		return sayTask(con, t, "created %s, due now", t.Name)
	}
	if !con.json {
		con.sayf("created %s, due now", wording.Printable(t.Name))
	}
	return wait(ctx, con, api, t)
}

type cronBackfillCmd struct {
	Name  string `arg:"" help:"The schedule's name."`
	From  string `required:"" placeholder:"TIME" help:"The first instant, or the time before it: 2026-11-20T20:00:00Z, a date (2026-11-20), whose midnight in the schedule's time zone it is, or a duration from now (-24h)."`
	Until string `default:"0s" placeholder:"TIME" help:"The last instant, or the time after it (default: now)."`
}

// Help shows examples below the usage line.
func (cronBackfillCmd) Help() string {
	return `Makes a task for each instant of the schedule's rule between two times, both included, at most 1000: all are due now, in the order of their
instants where they share a queue of concurrency 1. Whether an instant has fired before does not matter; the same two times again make nothing twice.
They are printed, since "now" and "-24h" are other times when they are said again. To see the instants first: foliot cron preview NAME --from TIME.

Examples:

    foliot cron backfill nightly --from 2026-11-01 --until 2026-11-08
    foliot cron backfill nightly --from 2026-11-01T20:00:00Z --until 2026-11-08T20:00:00Z`
}

// Run backfills.
func (c *cronBackfillCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if err := checkSchedules(c.Name); err != nil {
		return err
	}
	now := time.Now().Truncate(time.Millisecond) // as it is printed
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
		return usage.Errorf("--until", "%s lies before %s", wording.Instant(until), wording.Instant(from))
	}
	done, err := api.Schedules.Backfill(ctx, c.Name, from, until)
	if err != nil {
		noteRest(con, err, fmt.Sprintf("foliot cron backfill %s --from %s --until %s", c.Name, wording.Instant(from), wording.Instant(until)))
		return err
	}
	if con.json {
		return con.object(done)
	}
	existing := ""
	if done.Existing > 0 {
		existing = fmt.Sprintf(", %d were there", done.Existing)
	}
	con.sayf("created %d tasks of %s, %s to %s, due now%s", done.Created, c.Name, wording.Instant(from), wording.Instant(until), existing)
	return nil
}

// noteRest names the command that goes on with a backfill that broke off with err.
func noteRest(con *console, err error, again string) {
	code := exitCode(err)
	switch {
	case code == exitUnreachable, code == exitInterrupted, client.MaybeApplied(err):
		con.notef("some of the tasks may have been made; this makes the others, and none twice: %s", again)
	case errors.Is(err, client.ErrQuota), errors.Is(err, client.ErrRateLimited), errors.Is(err, client.ErrFull):
		con.notef("this makes the rest, as soon as they may be made, and none twice: %s", again)
	}
}
