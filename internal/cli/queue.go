package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type queueCmd struct {
	Ls     queueLsCmd     `cmd:"" help:"List queues: what they have, and what was decided of them."`
	Get    queueGetCmd    `cmd:"" help:"Show one queue."`
	Set    queueSetCmd    `cmd:"" help:"Decide a queue's limits, defaults and retention."`
	Pause  queuePauseCmd  `cmd:"" help:"Start nothing of a queue any more, but what is run by hand."`
	Resume queueResumeCmd `cmd:"" help:"Let a paused queue go on."`
	Purge  queuePurgeCmd  `cmd:"" help:"Cancel everything that is in a queue now."`
	Rm     queueRmCmd     `cmd:"" help:"Forget what was decided of a queue; its tasks stay."`
}

type queueLsCmd struct{}

// Help shows examples below the usage line.
func (queueLsCmd) Help() string {
	return `Lists the queues of which something was decided, and those that have tasks: name, whether it is paused, how many tasks are scheduled, running
and dead, and its limits.

Examples:

    foliot queue ls
    foliot queue ls -o json | jq 'select(.counts.dead > 0)'`
}

// Run prints the list.
func (queueLsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return listing(con, []string{"QUEUE", "STATE", "SCHEDULED", "RUNNING", "DEAD", "LIMITS"}, api.Queues.List(ctx), func(q *client.Queue) []string {
		return []string{q.Name, queueState(q), count(q.Counts.Scheduled), count(q.Counts.Running), count(q.Counts.Dead), queueLimits(q.QueueSettings)}
	})
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

// queueState is what holds a queue, in a word.
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

// queueLimits is what bounds a queue, in words.
func queueLimits(s client.QueueSettings) string {
	words := ""
	add := func(text string) {
		if words != "" {
			words += ", "
		}
		words += text
	}
	if s.Rate > 0 {
		text := number(s.Rate) + "/s"
		if s.Burst > 0 {
			text += " burst " + strconv.Itoa(s.Burst)
		}
		add(text)
	}
	if s.Concurrency > 0 {
		add(strconv.Itoa(s.Concurrency) + " at once")
	}
	if s.PerDestination > 0 {
		add(strconv.Itoa(s.PerDestination) + " to one host")
	}
	if words == "" {
		return "none"
	}
	return words
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

type queueGetCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

// Run prints the queue.
func (c *queueGetCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	q, err := api.Queues.Get(ctx, c.Queue)
	if err != nil {
		return err
	}
	return sayQueue(con, q)
}

// sayQueue prints a queue as rows of a word and its value.
func sayQueue(con *console, q *client.Queue) error {
	if con.json {
		return con.object(q)
	}
	out := con.table(nil)
	rows := [][2]string{
		{"queue", q.Name},
		{"state", queueState(q)},
		{"limits", queueLimits(q.QueueSettings)},
		{"retry", queueRetry(q.Retry)},
		{"timeout", durationWords(q.Timeout)},
		{"expire after", durationWords(time.Duration(q.ExpireAfter))},
		{"on dead", q.OnDead},
		{"keep finished", durationWords(q.KeepFinished)},
		{"keep dead", durationWords(q.KeepDead)},
		{"keep bodies", map[bool]string{true: "yes"}[q.KeepBodies]},
		{"scheduled", count(q.Counts.Scheduled)},
		{"running", count(q.Counts.Running)},
		{"delivered", count(q.Counts.Delivered)},
		{"cancelled", count(q.Counts.Cancelled)},
		{"expired", count(q.Counts.Expired)},
		{"dead", count(q.Counts.Dead)},
		{"bytes", count(q.Counts.Bytes)},
	}
	if !q.CreatedAt.IsZero() {
		rows = append(rows, [2]string{"created", wording.Instant(q.CreatedAt)})
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if err := out.add(row[:]...); err != nil {
			return err
		}
	}
	return out.end()
}

// queueRetry is what a queue says of retries; "" for nothing.
func queueRetry(r client.Retry) string {
	words := ""
	for _, part := range []struct{ word, value string }{
		{"max_attempts", attemptsWord(r.MaxAttempts)},
		{"min_backoff", durationWords(r.MinBackoff)},
		{"max_backoff", durationWords(r.MaxBackoff)},
		{"max_age", limitWord(r.MaxAge)},
	} {
		if part.value != "" {
			words += " " + part.word + " " + part.value
		}
	}
	if words == "" {
		return ""
	}
	return words[1:]
}

func attemptsWord(n client.Limit) string {
	switch n {
	case client.Unlimited:
		return "no limit"
	case 0:
		return ""
	}
	return n.String()
}

func limitWord(d client.Duration) string {
	if d == client.Forever {
		return "no limit"
	}
	return durationWords(time.Duration(d))
}

type queuePauseCmd struct {
	Queue string        `arg:"" help:"The queue's name."`
	For   time.Duration `placeholder:"DURATION" help:"It resumes by itself after that long."`
	Until string        `placeholder:"TIME" help:"It resumes by itself then: 2030-01-02T15:04:05Z, or a duration from now."`
}

// Help shows examples below the usage line.
func (queuePauseCmd) Help() string {
	return `Nothing of a paused queue starts, but what is run by hand; attempts under way go on. Its tasks are kept and come due; those that expire by
their own wish do. A pause survives a restart.

Examples:

    foliot queue pause mail
    foliot queue pause mail --for 10m`
}

// Run pauses.
func (c *queuePauseCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	var q *client.Queue
	var err error
	switch {
	case c.For < 0:
		return usage.Errorf("--for", "%v is negative", c.For)
	case c.For > 0 && c.Until != "":
		return usage.Errorf("--for, --until", "give one of them, not both")
	case c.For > 0:
		q, err = api.Queues.PauseFor(ctx, c.Queue, c.For)
	case c.Until != "":
		var until time.Time
		if until, err = parseBound("--until", c.Until, time.Now()); err != nil {
			return err
		}
		q, err = api.Queues.PauseUntil(ctx, c.Queue, until)
	default:
		q, err = api.Queues.Pause(ctx, c.Queue)
	}
	return saidOf(con, q, err, "%s is %s", c.Queue, queueState)
}

// saidOf prints a queue that was changed: itself as JSON, or a sentence.
func saidOf(con *console, q *client.Queue, err error, format, name string, word func(*client.Queue) string) error {
	switch {
	case err != nil:
		return err
	case con.json:
		return con.object(q)
	}
	con.sayf(format, name, word(q))
	return nil
}

type queueResumeCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

// Run resumes.
func (c *queueResumeCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	q, err := api.Queues.Resume(ctx, c.Queue)
	return saidOf(con, q, err, "%s is %s", c.Queue, queueState)
}

type queuePurgeCmd struct {
	Queue string `arg:"" help:"The queue's name."`
	Yes   bool   `short:"y" help:"Do not ask."`
}

// Help shows examples below the usage line.
func (queuePurgeCmd) Help() string {
	return `Cancels every task of the queue that exists then and is not finished, in the background: the server remembers it, and goes on with it after a
restart. Nothing of the queue starts until that is done; tasks created later are not touched. An attempt under way is the last of its task.
It asks first, with the number of tasks, and asks again if this number has changed by your answer. Without a terminal it needs --yes.

Examples:

    foliot queue purge mail
    foliot queue purge mail --yes && foliot queue get mail`
}

// Run purges.
func (c *queuePurgeCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	q, err := c.purge(ctx, con, api)
	return saidOf(con, q, err, "%s is %s: what was in it is being cancelled", c.Queue, queueState)
}

func (c *queuePurgeCmd) purge(ctx context.Context, con *console, api *client.Client) (*client.Queue, error) {
	if c.Yes {
		return api.Queues.Purge(ctx, c.Queue)
	}
	q, err := api.Queues.Get(ctx, c.Queue)
	if err != nil {
		return nil, err
	}
	unfinished := int(q.Counts.Scheduled + q.Counts.Running + q.Counts.Dead)
	question := func(tasks string) string { return "cancel " + tasks + " of " + c.Queue }
	return agreed(ctx, con, unfinished, question, func(expect *int) (*client.Queue, error) {
		if expect == nil {
			return api.Queues.Purge(ctx, c.Queue)
		}
		return api.Queues.PurgeExactly(ctx, c.Queue, *expect)
	})
}

type queueRmCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

// Run removes the settings.
func (c *queueRmCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	q, err := api.Queues.Delete(ctx, c.Queue)
	return saidOf(con, q, err, "nothing is decided of %s any more; it is %s", c.Queue, queueState)
}
