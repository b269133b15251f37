package cli

import (
	"context"

	"github.com/foliot/foliot/client"
)

type retryCmd struct{ manyFlags }

// Help shows examples below the usage line.
func (retryCmd) Help() string {
	return `Makes tasks that have ended due now, with all their attempts again and the same id: by name, or all that a filter chooses. Without
--state a filter chooses dead tasks. A delivered, cancelled or expired task can be sent again if its queue keeps bodies (foliot queue set --keep-bodies):
receivers that know its webhook-id see that it is a repeat.

With a filter, or with --all, it counts the tasks and asks first. Without a terminal it needs --yes.

Examples:

    foliot retry order-42-close
    foliot retry --state delivered --queue orders --due-after -1h
    foliot retry --queue mail
    foliot retry --all --yes`
}

// Run retries.
func (c *retryCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	filtered, err := c.byFilter()
	if err != nil {
		return err
	}
	if filtered {
		return c.bulk(ctx, con, api.Tasks.RetryMany, "retry", "retried")
	}
	return eachName(ctx, con, c.Names, func(name string) error {
		t, err := api.Tasks.Retry(ctx, name)
		if err != nil {
			return err
		}
		return sayTask(con, t, "retried %s, due now", t.Name)
	})
}
