package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// Queue has the commands of foliot queue.
type Queue struct {
	Ls     queueLsCmd     `cmd:"" aliases:"list" help:"List queues with task counts and settings."`
	Get    queueGetCmd    `cmd:"" aliases:"show" help:"Show one queue."`
	Set    queueSetCmd    `cmd:"" help:"Set the limits, defaults and retention of a queue."`
	Pause  queuePauseCmd  `cmd:"" help:"Pause a queue: start only tasks that are run by hand."`
	Resume queueResumeCmd `cmd:"" help:"Resume a paused queue."`
	Purge  queuePurgeCmd  `cmd:"" help:"Cancel all tasks that are in a queue now."`
	Rm     queueRmCmd     `cmd:"" aliases:"delete" help:"Remove the settings of a queue. Its tasks stay."`
}

type queueLsCmd struct{}

func (queueLsCmd) Help() string {
	return `Lists the queues that have settings or tasks: name, state, number of scheduled, running and dead tasks, and limits.

Examples:

    foliot queue ls
    foliot queue ls -o json | jq 'select(.counts.dead > 0)'`
}

func (queueLsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	err := console.List(con, []string{"QUEUE", "STATE", "SCHEDULED", "RUNNING", "DEAD", "LIMITS"}, api.Queues.List(ctx), func(q *client.Queue) []string {
		return []string{q.Name, queueState(q), count(q.Counts.Scheduled), count(q.Counts.Running), count(q.Counts.Dead), queueLimits(q.QueueSettings)}
	})
	if err == nil {
		con.NoteIfEmpty()
	}
	return err
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

func queueState(q *client.Queue) string {
	switch {
	case q.Purging:
		return "purging"
	case !q.Paused:
		return "open"
	case q.PausedUntil.IsZero():
		return "paused"
	}
	return "paused until " + wording.Instant(q.PausedUntil)
}

func queueLimits(s client.QueueSettings) string {
	var words []string
	if s.Rate > 0 {
		text := number(s.Rate) + "/s"
		if s.Burst > 0 {
			text += " burst " + strconv.Itoa(s.Burst)
		}
		words = append(words, text)
	}
	if s.Concurrency > 0 {
		words = append(words, strconv.Itoa(s.Concurrency)+" at once")
	}
	if s.PerDestination > 0 {
		words = append(words, strconv.Itoa(s.PerDestination)+" to one host")
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

type queueGetCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

func (c *queueGetCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	q, err := api.Queues.Get(ctx, c.Queue)
	if err != nil {
		return err
	}
	return printQueue(con, q)
}

func printQueue(con *console.Console, q *client.Queue) error {
	if con.JSON {
		return con.Object(q)
	}
	var rows console.Rows
	rows.Add("queue", q.Name)
	rows.Add("state", queueState(q))
	rows.Add("limits", queueLimits(q.QueueSettings))
	addFields[wire.Retry](&rows, q.Retry)
	addFields[wire.QueueInput](&rows, q.QueueSettings, "rate", "burst", "concurrency", "per_destination", "retry")
	addFields[wire.Counts](&rows, q.Counts)
	if !q.CreatedAt.IsZero() {
		rows.Add("created", wording.Instant(q.CreatedAt))
	}
	return rows.Print(con)
}

// addFields adds a row for each field of v, with the name in W, the type of the API.
// The fields in skip have rows of their own.
func addFields[W any](rows *console.Rows, v any, skip ...string) {
	for _, f := range fields.Of(reflect.TypeFor[W]()) {
		if slices.Contains(skip, f.JSON) {
			continue
		}
		value := reflect.ValueOf(v).FieldByName(f.Name)
		text := fmt.Sprint(value)
		switch {
		case value.IsZero() && !fields.Required(f.StructField):
			text = ""
		case value.Type() == reflect.TypeFor[time.Duration]():
			text = wording.Span(time.Duration(value.Int()))
		case value.Kind() == reflect.Bool:
			text = "yes"
		}
		rows.Add(strings.ReplaceAll(f.JSON, "_", " "), text)
	}
}

type queuePauseCmd struct {
	Queue string        `arg:"" help:"The queue's name."`
	For   time.Duration `placeholder:"DURATION" help:"Resume the queue after this time."`
}

func (queuePauseCmd) Help() string {
	return `A paused queue starts no attempts, except of tasks that are run by hand. Running attempts go on. The tasks of the queue are
kept and become due, and tasks with expire_after expire. A pause survives a restart.

Examples:

    foliot queue pause mail
    foliot queue pause mail --for 10m`
}

func (c *queuePauseCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	var opts []client.CallOption
	if c.For != 0 { // not Until: the clock of this machine may differ from the clock of the server
		opts = append(opts, client.For(c.For))
	}
	q, err := api.Queues.Pause(ctx, c.Queue, opts...)
	return printChanged(con, q, err, "%s is %s", c.Queue)
}

// printChanged prints a changed queue as JSON, or as a sentence with its name and
// its state. It returns err if that is not nil.
func printChanged(con *console.Console, q *client.Queue, err error, format, name string) error {
	if err != nil {
		return err
	}
	return errors.Join(con.Resultf(q, format, name, queueState(q)), exit.Applied(q.Unconfirmed))
}

type queueResumeCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

func (c *queueResumeCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	q, err := api.Queues.Resume(ctx, c.Queue)
	return printChanged(con, q, err, "%s is %s", c.Queue)
}

type queuePurgeCmd struct {
	Queue string `arg:"" help:"The queue's name."`
	Yes   bool   `short:"y" help:"Do not ask for confirmation."`
}

func (queuePurgeCmd) Help() string {
	return `Cancels all unfinished tasks that the queue has now. The server does this in the background, and goes on after a restart.
Until it is done, the queue starts no attempt. A running attempt is the last one of its task. The command takes two seconds.
Tasks that enter the queue later are not cancelled.

The command asks for confirmation with the number of tasks, and asks again if this number has changed when you answer.
Without a terminal it needs --yes.

Examples:

    foliot queue purge mail
    foliot queue purge mail --yes && foliot queue get mail`
}

func (c *queuePurgeCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	q, err := c.purge(ctx, con, api)
	return printChanged(con, q, err, "purged %[1]s: the server cancels the tasks that it had", c.Queue)
}

func (c *queuePurgeCmd) purge(ctx context.Context, con *console.Console, api *client.Client) (*client.Queue, error) {
	if c.Yes {
		return api.Queues.Purge(ctx, c.Queue)
	}
	q, err := api.Queues.Get(ctx, c.Queue)
	if err != nil {
		return nil, err
	}
	unfinished := int(q.Counts.Scheduled + q.Counts.Running + q.Counts.Dead)
	question := func(tasks string) string { return "cancel " + tasks + " of " + c.Queue }
	return console.ConfirmCount(ctx, con, unfinished, question, func(expect []client.CallOption) (*client.Queue, error) {
		return api.Queues.Purge(ctx, c.Queue, expect...)
	})
}

type queueRmCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

func (c *queueRmCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	q, err := api.Queues.Delete(ctx, c.Queue)
	return printChanged(con, q, err, "removed the settings of %s; it is %s", c.Queue)
}
