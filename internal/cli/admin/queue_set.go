package admin

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire/fields"
)

// queueSetCmd changes the given settings and keeps all other settings.
type queueSetCmd struct {
	Queue string `arg:"" help:"The queue's name."`

	Rate           *flags.NumberLimit `placeholder:"N" help:"Attempts that may start per second; 0.1: one in ten seconds."`
	Burst          *int               `placeholder:"N" help:"Attempts that may start at once after a quiet time; needs a rate (default: those of one second)."`
	Concurrency    *flags.WholeLimit  `placeholder:"N" help:"Attempts that may run at the same time."`
	PerDestination *flags.WholeLimit  `placeholder:"N" help:"Attempts that may run at the same time to one host and port."`

	MaxAttempts *string        `placeholder:"N" help:"Default for tasks: attempts before a task is dead; unlimited: only --max-age ends it."`
	MinBackoff  *time.Duration `placeholder:"DURATION" help:"Default for tasks: the wait after the first failure."`
	MaxBackoff  *time.Duration `placeholder:"DURATION" help:"Default for tasks: the longest wait between attempts."`
	MaxAge      *string        `placeholder:"DURATION" help:"Default for tasks: a task is dead this long after its first attempt; unlimited: never."`
	Timeout     *time.Duration `placeholder:"DURATION" help:"Default for tasks: the time limit of one attempt."`
	ExpireAfter *time.Duration `placeholder:"DURATION" help:"Default for tasks: start no attempt later than this after the due time."`
	OnDead      *string        `placeholder:"URL" help:"Default for tasks: call this URL, with a task of its own, when a task dies."`

	KeepFinished *time.Duration `placeholder:"DURATION" help:"How long finished tasks are kept."`
	KeepDead     *time.Duration `placeholder:"DURATION" help:"How long dead tasks are kept."`
	KeepBodies   *bool          `negatable:"" help:"Keep the bodies of finished tasks as long as their records, so that foliot retry can send them again."`
}

func (queueSetCmd) Help() string {
	return `Changes the given settings and keeps the others. The value unlimited removes a limit. The values 0, 0s and "" remove any
other setting. Limits apply at once, retention to tasks that end from now on, and defaults to tasks that are created from now on. A task that
waits because of a limit uses no attempt.

Examples:

    foliot queue set mail --rate 50 --burst 100 --per-destination 4
    foliot queue set mail --max-attempts 8 --on-dead https://ops.example/dead
    foliot queue set mail --rate unlimited
    foliot queue set orders --keep-bodies --keep-finished 72h`
}

// Run reads the queue, changes its settings and writes them, unless another
// client has changed the queue since.
func (c *queueSetCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	q, err := api.Queues.Get(ctx, c.Queue)
	if errors.Is(err, client.ErrNotFound) {
		q, err = &client.Queue{}, nil
	}
	if err != nil {
		return err
	}
	settings := q.QueueSettings
	if err := c.merge(&settings); err != nil {
		return err
	}
	q, err = api.Queues.Put(ctx, c.Queue, settings, connect.Unchanged(q.ETag()))
	if errors.Is(err, client.ErrPrecondition) {
		return exit.Reword(err, "put queue %s: another client has just changed it; check it with `foliot queue get`, and retry", c.Queue)
	}
	if err != nil {
		return err
	}
	return errors.Join(printQueue(con, q), exit.Applied(q.Unconfirmed))
}

func (c *queueSetCmd) merge(s *client.QueueSettings) error {
	if err := flags.Merge(s, c); err != nil {
		return err
	}
	if s.Rate == 0 && c.Burst == nil { // the server refuses a burst without a rate
		s.Burst = 0
	}
	return flags.Merge(&s.Retry, c, fields.Parse(attemptsOf), fields.Parse(ageOf))
}

func attemptsOf(s string) (client.Limit, error) {
	if s == flags.Unlimited {
		return client.Unlimited, nil
	}
	n, err := strconv.Atoi(cmp.Or(s, "0"))
	if err != nil || n < 0 {
		err = usage.Errorf("--max-attempts", "%q is neither a number nor %q", s, flags.Unlimited)
	}
	return client.Limit(n), err
}

func ageOf(s string) (client.Duration, error) {
	if s == flags.Unlimited {
		return client.Forever, nil
	}
	d, err := timespan.Parse(cmp.Or(s, "0s"))
	if err != nil || d < 0 {
		err = usage.Errorf("--max-age", "%q is neither a duration, such as 24h, nor %q", s, flags.Unlimited)
	}
	return client.Duration(d), err
}
