package tasks

import (
	"context"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Due is the command foliot due.
type Due struct {
	Until time.Duration `default:"1h" placeholder:"DURATION" help:"Count the tasks that are due within this time (default: 1h)."`
	Step  time.Duration `default:"5m" placeholder:"DURATION" help:"The length of a step, in whole milliseconds (default: 5m)."`
	Queue string        `placeholder:"QUEUE" help:"Only tasks of this queue."`
}

// Help shows examples below the usage line.
func (Due) Help() string {
	return `Counts the tasks that are due next, in steps of time. FROM is the beginning of a step, and TASKS the number of tasks that are due
in it. HELD is how many of these are held now, because their queue is paused or being purged, or their namespace is suspended. A
task that has failed is due at its next attempt. The row "overdue" has the tasks that are already due, and the row "later" those
that are due after --until.

Examples:

    foliot due
    foliot due --until 24h --step 1h --queue mail
    foliot due -o json | jq '.scheduled'`
}

// maxSteps is the largest number of rows that a server counts at once.
const maxSteps = 1000

// Run prints the counts.
func (c *Due) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	switch {
	case c.Step < time.Millisecond || c.Step%time.Millisecond != 0:
		return usage.Errorf("--step", "%v is not a positive number of whole milliseconds", c.Step)
	case c.Until < c.Step:
		return usage.Errorf("--until", "%v is shorter than --step (%v)", c.Until, c.Step)
	case (c.Until-1)/c.Step >= maxSteps:
		return usage.Errorf("--step", "%v makes more than %d rows until %v", c.Step, maxSteps, c.Until)
	}
	due, err := api.Admin.Due(ctx, client.DueQuery{Until: c.Until, Step: c.Step, Queue: c.Queue})
	if err != nil {
		return err
	}
	if con.JSON {
		return con.Object(due)
	}
	return printDue(con, due)
}

// printDue prints a row for each slot whose count is exact.
func printDue(con *console.Console, due *client.Due) error {
	out := con.Table([]string{"FROM", "TASKS", "HELD"})
	if err := out.Add("overdue", strconv.FormatInt(due.Overdue, 10), ""); err != nil {
		return err
	}
	for _, r := range due.Rings {
		for i, n := range r.Counts {
			from := r.From.Add(time.Duration(i) * r.Slot)
			if !due.ExactUntil.IsZero() && !from.Before(due.ExactUntil) {
				break
			}
			held := int64(0)
			if r.Held != nil {
				held = r.Held[i]
			}
			if err := out.Add(wording.Instant(from), strconv.FormatInt(n, 10), strconv.FormatInt(held, 10)); err != nil {
				return err
			}
		}
	}
	if err := out.Add("later", strconv.FormatInt(due.Later, 10), ""); err != nil {
		return err
	}
	if !due.ExactUntil.IsZero() {
		con.Notef("there are too many tasks to count all of them: the rows end at %s", wording.Instant(due.ExactUntil))
	}
	return out.End()
}
