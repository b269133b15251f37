package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/usage"
)

// Dead holds the commands for dead tasks.
type Dead struct {
	Ls    deadLsCmd    `cmd:"" aliases:"list" help:"List dead tasks with the reasons, the latest first."`
	Retry deadRetryCmd `cmd:"" help:"Retry dead tasks."`
	Rm    deadRmCmd    `cmd:"" aliases:"delete" help:"Cancel dead tasks. Their bodies are deleted at once, their records when retention ends."`
}

// deadFilter selects dead tasks.
type deadFilter struct {
	Queue      string   `group:"filter" placeholder:"NAME" help:"Only tasks of this queue."`
	Reason     string   `group:"filter" placeholder:"REASON" help:"Only tasks that died for this reason: attempts_exhausted, max_age_exceeded, gone, no_retry, egress_denied or reclaims_exhausted."`
	Label      []string `group:"filter" sep:"none" placeholder:"KEY=VALUE" help:"Only tasks with this label. If repeated, all labels must match."`
	Schedule   string   `group:"filter" placeholder:"NAME" help:"Only tasks that this schedule created."`
	Prefix     string   `group:"filter" placeholder:"TEXT" help:"Only tasks whose names begin with this."`
	DueBefore  string   `group:"filter" placeholder:"TIME" help:"Only tasks due before this time: 2030-01-02T15:04:05Z, or a duration from now (-1h)."`
	DueAfter   string   `group:"filter" placeholder:"TIME" help:"Only tasks due after this time: 2030-01-02T15:04:05Z, or a duration from now (-24h)."`
	EndedAfter string   `group:"filter" placeholder:"TIME" help:"Only tasks that died after this time: 2030-01-02T15:04:05Z, or a duration from now (-1h)."`
}

func (f deadFilter) flags() flags.Filter {
	return flags.Filter{Queue: f.Queue, State: []string{string(client.Dead)}, Reason: f.Reason, Label: f.Label, Schedule: f.Schedule, Prefix: f.Prefix, DueBefore: f.DueBefore, DueAfter: f.DueAfter, EndedAfter: f.EndedAfter}
}

type deadLsCmd struct {
	deadFilter

	Limit int `short:"n" default:"100" placeholder:"N" help:"List at most this many tasks; 0 lists all (default: 100)."`
}

// Help shows examples below the usage line.
func (deadLsCmd) Help() string {
	return `A task is dead when it has used all its attempts, has reached its maximum age, or the receiver has forbidden a retry. A dead
task keeps its body until its retention ends.

Examples:

    foliot dead ls
    foliot dead ls --queue mail -n 0 | cut -f2 | sort | uniq -c`
}

// Run prints the list.
func (c *deadLsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Limit < 0 {
		return usage.Errorf("--limit", "%d is negative; 0 lists all", c.Limit)
	}
	filter, err := c.flags().Resolve(time.Now())
	if err != nil {
		return err
	}
	out := con.Table([]string{"NAME", "REASON", "SINCE", "ATTEMPTS", "QUEUE", "LAST ERROR"})
	shown, more, err := EachTask(ctx, api, client.Query{Filter: filter, LatestEnded: true}, c.Limit, func(t *client.Task) error {
		attempts, last := 0, ""
		if n := len(t.Attempts); n > 0 {
			attempts, last = t.Attempts[n-1].Number, t.Attempts[n-1].Error
		}
		return out.Item(t, t.Name, t.Reason, con.Instant(t.FinishedAt), strconv.Itoa(attempts), t.Queue, last)
	})
	if err = errors.Join(err, out.End()); err != nil {
		return err
	}
	con.NoteIfEmpty()
	if more {
		con.Notef("showing the latest %d; --limit 0 lists all", shown)
	}
	return nil
}

type deadRetryCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"The tasks' names."`
	deadFilter
	All bool `group:"filter" help:"All dead tasks."`
	yesFlag
}

// Help shows examples below the usage line.
func (deadRetryCmd) Help() string {
	return `Makes dead tasks due now, by name, or all dead tasks that a filter selects. A retried task keeps its id and gets all its
attempts back.

With a filter, or with --all, the command counts the tasks and asks for confirmation. Without a terminal it needs --yes.

Examples:

    foliot dead retry order-42-close
    foliot dead retry --queue mail --ended-after -1h
    foliot dead retry --reason egress_denied --yes`
}

// Run retries the tasks.
func (c *deadRetryCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return (&Retry{manyFlags{Names: c.Names, Filter: c.filterFor(c.Names), All: c.All, yesFlag: c.yesFlag}}).Run(ctx, con, api)
}

// filterFor returns the flags of a command that acts on many tasks. If tasks
// are named, the flags select nothing.
func (f deadFilter) filterFor(names []string) flags.Filter {
	flags := f.flags()
	dead := flags.State
	flags.State = nil // without another filter, the state must not select all dead tasks
	if len(names) == 0 && flags.Given() {
		flags.State = dead
	}
	return flags
}

type deadRmCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"The tasks' names."`
	deadFilter
	All bool `group:"filter" help:"All dead tasks."`
	yesFlag
}

// Help shows examples below the usage line.
func (deadRmCmd) Help() string {
	return `Cancels dead tasks, by name, or all dead tasks that a filter selects.

With a filter, or with --all, the command counts the tasks and asks for confirmation. Without a terminal it needs --yes.

Examples:

    foliot dead rm order-42-close
    foliot dead rm --queue mail --due-before -168h`
}

// Run cancels the tasks. A named task must be dead and must not change until it
// is cancelled, so that a typing error cannot cancel a live task.
func (c *deadRmCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	flags := c.filterFor(c.Names)
	if c.All {
		flags.State = []string{string(client.Dead)}
	}
	chosen := manyFlags{Names: c.Names, Filter: flags, yesFlag: c.yesFlag}
	return chosen.each(ctx, con, api.Tasks.CancelMany, "cancel", "cancelled", func(name string) error {
		t, err := api.Tasks.Get(ctx, name)
		if err != nil {
			return exit.WithOp(err, "cancel "+name)
		}
		if t.State != client.Dead {
			return exit.With(exit.Conflict, fmt.Errorf("%s is %s, not dead: use foliot cancel to cancel a live task", name, t.State))
		}
		if t, _, err = api.Tasks.Cancel(ctx, name, client.IfMatch(t.ETag())); err != nil {
			return err
		}
		return con.Resultf(t, "cancelled %s", name)
	})
}
