package tasks

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
)

// Run is the command foliot run.
type Run struct {
	Names []string `arg:"" name:"name" help:"The tasks' names."`
}

// Help shows examples below the usage line.
func (Run) Help() string {
	return `Makes waiting tasks due now. A dead task is refused: use foliot retry.

Example:

    foliot run order-42-close`
}

// Run makes the tasks due now.
func (c *Run) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return eachTaskName(ctx, con, c.Names, func(name string) error {
		t, err := api.Tasks.Run(ctx, name)
		if err != nil {
			return err
		}
		return con.Resultf(t, "%s is due now", t.Name)
	})
}
