package tasks

import (
	"context"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/usage"
)

// Move is the command foliot move.
type Move struct {
	manyFlags
	flags.When

	Now bool   `help:"Instead of --in and --at: make the tasks due now, and start them even if their queue is paused."`
	By  string `placeholder:"DURATION" help:"With a filter: add this to the due time of each task, such as 2h or -30m."`
}

func (Move) Help() string {
	return `Changes the due time of tasks, by name, or of all scheduled tasks that a filter selects. A dead task stays dead until it is
retried. Running and finished tasks do not move. --now refuses dead tasks: use foliot retry.

With a filter, or with --all, the command counts the tasks and asks for confirmation. Without a terminal it needs --yes. If a
command with --by is interrupted, a repeat moves tasks again that still match, so use --due-before or --due-after.

Examples:

    foliot move order-42-close --in 30m
    foliot move order-42-close --at '2030-11-20 21:00' --timezone Europe/Berlin
    foliot move order-42-close --now
    foliot move --queue mail --due-before 1h --by 2h --dry-run`
}

func (c *Move) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	filtered, err := c.byFilter()
	if err != nil {
		return err
	}
	if c.Now {
		return c.now(ctx, con, api, filtered)
	}
	to, err := c.newDue(filtered)
	if err != nil {
		return err
	}
	if filtered {
		act := func(ctx context.Context, f client.Filter, opts ...client.CallOption) (client.BulkResult, error) {
			return api.Tasks.MoveMatching(ctx, f, to, opts...)
		}
		return c.bulk(ctx, con, act, "move", "moved")
	}
	patch := client.Patch{At: client.Set(to.At)}
	if to.At.IsZero() {
		patch = client.Patch{Delay: client.Set(to.Delay)}
	}
	return con.ForEachName(ctx, c.Names, func(name string) error {
		t, err := api.Tasks.Patch(ctx, name, patch)
		if err != nil {
			return exit.WithOp(err, "move "+name)
		}
		if t.State == client.StateDead {
			return con.Resultf(t, "moved %s, due %s; it stays dead: foliot retry %[1]s sends it now", t.Name, wording.Instant(t.DueAt))
		}
		return con.Resultf(t, "moved %s, due %s", t.Name, wording.Instant(t.DueAt))
	})
}

func (c *Move) now(ctx context.Context, con *console.Console, api *client.Client, filtered bool) error {
	switch {
	case c.When != (flags.When{}) || c.By != "":
		return usage.Errorf("--now", "pass only one of --in, --at, --by and --now")
	case filtered:
		return usage.Errorf("--now", "it needs names: with a filter, pass --in 0s")
	}
	return con.ForEachName(ctx, c.Names, func(name string) error {
		t, err := api.Tasks.Run(ctx, name)
		if err != nil {
			return err
		}
		return con.Resultf(t, "%s is due now", t.Name)
	})
}

// newDue returns the due time that the flags name. A filter also allows --by.
func (c *Move) newDue(filtered bool) (to client.When, err error) {
	if c.By == "" {
		to.At, to.Delay, err = c.When.Resolve(time.Now())
		return to, err
	}
	if c.When != (flags.When{}) {
		return to, usage.Errorf("--by", "pass only one of --in, --at and --by")
	}
	if !filtered {
		return to, usage.Errorf("--by", "it needs a filter: for single tasks, pass --in or --at")
	}
	if to.By, err = timespan.Parse(c.By); err != nil || to.By == 0 {
		return to, usage.Errorf("--by", "%q is not a duration other than zero; write 2h or -30m", c.By)
	}
	return to, nil
}
