package tasks

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Touch is the command foliot touch.
type Touch struct {
	Names []string `arg:"" name:"name" help:"The tasks' names."`
}

func (Touch) Help() string {
	return `Restarts the delay of tasks that were created with one, and resets their attempts. A task that is touched more often than
its delay is never sent. When the touches stop, it is sent once: this makes it a watchdog.

Example:

    foliot add https://alerts.example/backup-missing --name backup --in 25h
    foliot touch backup        run this at the end of each backup`
}

func (c *Touch) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return con.ForEachName(ctx, c.Names, func(name string) error {
		t, err := api.Tasks.Touch(ctx, name)
		if err != nil {
			return err
		}
		return con.Resultf(t, "touched %s, due %s", t.Name, wording.Instant(t.DueAt))
	})
}
