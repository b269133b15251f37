package tasks

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
)

// Retry is the command foliot retry.
type Retry struct{ manyFlags }

func (Retry) Help() string {
	return `Makes tasks that have ended due now, by name, or all tasks that a filter selects. A retried task keeps its id and gets all
its attempts back. Without --state, a filter selects dead tasks. A delivered, cancelled or expired task can be sent again
if its queue keeps bodies (foliot queue set --keep-bodies). Receivers can recognise the repeat by its webhook-id.

With a filter, or with --all, the command counts the tasks and asks for confirmation. Without a terminal it needs --yes.

Examples:

    foliot retry order-42-close
    foliot retry --state delivered --queue orders --due-after -1h
    foliot retry --queue mail
    foliot retry --all --yes`
}

func (c *Retry) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return c.each(ctx, con, api.Tasks.RetryMatching, "retry", "retried", func(name string) error {
		t, err := api.Tasks.Retry(ctx, name)
		if err != nil {
			return err
		}
		return con.Resultf(t, "retried %s, due now", t.Name)
	})
}
