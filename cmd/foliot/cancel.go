package main

import "context"

type cancelCmd struct{ manyFlags }

// Help shows examples below the usage line.
func (cancelCmd) Help() string {
	return `Cancels tasks by name, or all that a filter chooses. "cancelled" means that no attempt starts any more. "accepted"
means that an attempt is under way: it is the last one, and the task ends delivered or cancelled.

Examples:

    foliot cancel order-42-close order-43-close
    foliot cancel --label tenant=acme --state scheduled`
}

// Run cancels.
func (c *cancelCmd) Run(ctx context.Context, con *console, api *client) error {
	filtered, err := c.byFilter()
	if err != nil {
		return err
	}
	if filtered {
		return c.bulk(ctx, con, api, "cancel", "cancelled")
	}
	return eachName(ctx, con, c.Names, func(name string) error {
		t, accepted, err := api.cancel(ctx, name)
		switch {
		case err != nil:
			return err
		case accepted:
			return sayTask(con, t, "accepted: an attempt of %s is under way, no other follows", name)
		}
		return sayTask(con, t, "cancelled %s", name)
	})
}
