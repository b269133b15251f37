package cli

import (
	"context"
	"strconv"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

type getCmd struct {
	Name string `arg:"" help:"The task's name."`
	Wait bool   `help:"Wait until the task ends. Exit with 6 if it was not delivered."`
}

// Help shows examples below the usage line.
func (getCmd) Help() string {
	return `Shows a task with its state, due time, request and last 20 attempts. Retries do not change the due time: if a retry is
planned, a line of its own shows its time.

Examples:

    foliot get order-42-close
    foliot get order-42-close -o json | jq .attempts`
}

// Run prints the task.
func (c *getCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if err := checkNames([]string{c.Name}); err != nil {
		return err
	}
	t, err := api.Tasks.Get(ctx, c.Name)
	if err != nil {
		return err
	}
	if c.Wait {
		return wait(ctx, con, api, t)
	}
	if con.json {
		return con.object(t)
	}
	return describe(t).print(con)
}

// describe returns a task as rows.
func describe(t *client.Task) (r rows) {
	state := string(t.State)
	if t.Reason != "" && t.Reason != state {
		state += " (" + t.Reason + ")"
	}
	if t.HeldBy != "" {
		state += " (" + heldWords(t.HeldBy) + ")"
	}
	if t.CancelRequested {
		state += ", cancel requested"
	}
	r.add("name", t.Name)
	r.add("id", t.ID)
	r.add("state", state)
	r.add("due", wording.Instant(t.DueAt))
	if !t.NextAt.Equal(t.DueAt) {
		r.add("next attempt", wording.InstantOr(t.NextAt, ""))
	}
	r.add("schedule", t.Schedule)
	r.add("instant", wording.InstantOr(t.Instant, ""))
	addRequest(&r, &t.Spec)
	if t.At.IsZero() {
		r.add("delay", t.Delay.String())
	}
	addLimits(&r, &t.Spec)
	r.add("created", wording.Instant(t.CreatedAt))
	r.add("finished", wording.InstantOr(t.FinishedAt, ""))
	if t.Reclaims > 0 {
		r.add("reclaims", strconv.Itoa(t.Reclaims))
	}
	for _, a := range t.Attempts {
		r.add("attempt", wording.Instant(a.StartedAt)+" "+attemptLine(a))
	}
	return r
}

// heldWords describes why a task is held. A newer server may have reasons that
// this version does not know; they are shown unchanged.
func heldWords(by string) string {
	switch by {
	case "suspended":
		return "the namespace is suspended"
	case "purge":
		return "the queue is being purged"
	case "pause":
		return "the queue is paused"
	}
	return by
}
