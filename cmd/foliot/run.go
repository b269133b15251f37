package main

import "context"

type runCmd struct {
	Names []string `arg:"" name:"name" help:"The tasks' names."`
}

// Help shows examples below the usage line.
func (runCmd) Help() string {
	return `Makes waiting tasks due now. A dead one is refused: retry gives it a new life.

Example:

    foliot run order-42-close`
}

// Run makes the tasks due.
func (c *runCmd) Run(ctx context.Context, con *console, api *client) error {
	return eachName(ctx, con, c.Names, func(name string) error {
		t, err := api.act(ctx, name, "run")
		if err != nil {
			return err
		}
		return sayTask(con, t, "%s is due now", t.Name)
	})
}
