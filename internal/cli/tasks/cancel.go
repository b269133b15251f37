package tasks

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
)

// Cancel is the command foliot cancel.
type Cancel struct{ manyFlags }

func (Cancel) Help() string {
	return `Cancels tasks by name, or all tasks that a filter selects. "cancelled" means that no attempt starts any more. "accepted"
means that an attempt is running: it is the last one, and the task ends delivered or cancelled.

With a filter, or with --all, the command counts the tasks and asks for confirmation. Without a terminal it needs --yes.

Examples:

    foliot cancel order-42-close order-43-close
    foliot cancel --label tenant=acme --state scheduled
    foliot cancel --queue mail --yes`
}

func (c *Cancel) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return c.each(ctx, con, api.Tasks.CancelMatching, "cancel", "cancelled", func(name string) error {
		done, err := api.Tasks.Cancel(ctx, name)
		switch {
		case err != nil:
			return err
		case done.Already:
			return con.Resultf(done.Task, "%s was already cancelled", name)
		case done.UnderWay:
			return con.Resultf(done.Task, "accepted: an attempt of %s is running, and no other attempt follows", name)
		}
		return con.Resultf(done.Task, "cancelled %s", name)
	})
}
