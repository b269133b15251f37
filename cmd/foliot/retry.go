package main

import (
	"context"

	"github.com/foliot/foliot/client"
)

type retryCmd struct{ manyFlags }

// Help shows examples below the usage line.
func (retryCmd) Help() string {
	return `Makes dead tasks due now, with all their attempts again and the same id: by name, or all that a filter chooses.

With a filter, or with --all, it counts the tasks and asks first. Without a terminal it needs --yes.

Examples:

    foliot retry order-42-close
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
