package tasks

import (
	"context"
	"strconv"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Get is the command foliot get.
type Get struct {
	Name string `arg:"" help:"The task's name."`
	Wait bool   `help:"Wait until the task ends. Exit with 6 if it was not delivered."`
}

func (Get) Help() string {
	return `Shows a task with its state, the reason why it does not start, its due time, request and last 20 attempts. Retries do not change the due time: if a retry is
planned, a line of its own shows its time.

Examples:

    foliot get order-42-close
    foliot get order-42-close -o json | jq .attempts`
}

func (c *Get) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	t, err := api.Tasks.Get(ctx, c.Name)
	if err != nil {
		return err
	}
	if c.Wait {
		return delivery.Wait(ctx, con, api, t)
	}
	if con.JSON {
		return con.Object(t)
	}
	return describe(t).Print(con)
}

func describe(t *client.Task) (r console.Rows) {
	state := string(t.State)
	if t.Reason != "" && t.Reason != state {
		state += " (" + t.Reason + ")"
	}
	if t.CancelRequested {
		state += ", cancel requested"
	}
	r.Add("name", t.Name)
	r.Add("id", t.ID)
	r.Add("state", state)
	r.Add("waits for", delivery.Waits(t))
	r.Add("due", wording.Instant(t.DueAt))
	if !t.NextAt.Equal(t.DueAt) {
		r.Add("next attempt", wording.InstantOr(t.NextAt, ""))
	}
	r.Add("schedule", t.Schedule)
	r.Add("instant", wording.InstantOr(t.Instant, ""))
	delivery.AddRequest(&r, &t.Spec)
	if t.At.IsZero() {
		r.Add("delay", wording.Span(t.Delay))
	}
	delivery.AddLimits(&r, &t.Spec)
	delivery.AddAuthors(&r, t.CreatedAt, &t.Authors)
	r.Add("finished", wording.InstantOr(t.FinishedAt, ""))
	if t.Reclaims > 0 {
		r.Add("reclaims", strconv.Itoa(t.Reclaims))
	}
	for _, a := range t.Attempts {
		r.Add("attempt", wording.Instant(a.StartedAt)+" "+delivery.AttemptLine(a))
	}
	return r
}
