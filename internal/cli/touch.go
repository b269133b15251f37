package cli

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

type touchCmd struct {
	Names []string `arg:"" name:"name" help:"The tasks' names."`
}

// Help shows examples below the usage line.
func (touchCmd) Help() string {
	return `Makes tasks that were created with a delay due that delay from now, with all their attempts again. A task that is touched
more often than its delay never fires; it fires once when the touches stop: a watchdog.

Example:

    foliot add https://alerts.example/backup-missing --name backup --in 25h
    foliot touch backup        at the end of each backup`
}

// Run touches.
func (c *touchCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return eachName(ctx, con, c.Names, func(name string) error {
		t, err := api.Tasks.Touch(ctx, name)
		if err != nil {
			return err
		}
		return sayTask(con, t, "touched %s, due %s", t.Name, wording.Instant(t.DueAt))
	})
}
