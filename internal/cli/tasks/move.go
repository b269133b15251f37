package tasks

import (
	"context"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Move is the command foliot move.
type Move struct {
	Name string `arg:"" help:"The task's name."`

	flags.When
}

// Help shows examples below the usage line.
func (Move) Help() string {
	return `Changes the due time of a waiting or dead task. A dead task stays dead until it is retried.

Examples:

    foliot move order-42-close --in 30m
    foliot move order-42-close --at 2030-11-20T21:00:00Z`
}

// Run moves the task.
func (c *Move) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if err := flags.CheckNames([]string{c.Name}); err != nil {
		return err
	}
	at, delay, err := c.Resolve(time.Now())
	if err != nil {
		return err
	}
	patch := client.Patch{At: client.Set(at)}
	if at.IsZero() {
		patch = client.Patch{Delay: client.Set(delay)}
	}
	t, err := api.Tasks.Patch(ctx, c.Name, patch)
	if err != nil {
		return exit.WithOp(err, "move "+c.Name)
	}
	return con.Resultf(t, "moved %s, due %s", t.Name, wording.Instant(t.DueAt))
}
