package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/usage"
)

// queueSetCmd changes what is given and leaves the rest as it is.
type queueSetCmd struct {
	Queue string `arg:"" help:"The queue's name."`

	Rate           *numberLimit `placeholder:"N" help:"Attempts that may start in a second; 0.1: one in ten seconds."`
	Burst          *int         `placeholder:"N" help:"How many may start at once after a silence; needs a rate (default: as many as a second brings)."`
	Concurrency    *wholeLimit  `placeholder:"N" help:"Attempts that may be under way at once."`
	PerDestination *wholeLimit  `placeholder:"N" help:"How many of them to one host and port."`

	MaxAttempts *string        `placeholder:"N" help:"For tasks whose creator does not say: attempts before a task is dead; unlimited: only --max-age ends it."`
	MinBackoff  *time.Duration `placeholder:"DURATION" help:"The wait after the first failure."`
	MaxBackoff  *time.Duration `placeholder:"DURATION" help:"The longest wait."`
	MaxAge      *string        `placeholder:"DURATION" help:"How long after the first attempt a task is dead; unlimited: never."`
	Timeout     *time.Duration `placeholder:"DURATION" help:"Of one attempt."`
	ExpireAfter *time.Duration `placeholder:"DURATION" help:"How long after its due time a task that could not start is given up."`
	OnDead      *string        `placeholder:"URL" help:"Called, by a task of its own, when a task dies."`

	KeepFinished *time.Duration `placeholder:"DURATION" help:"How long finished tasks are kept for reading."`
	KeepDead     *time.Duration `placeholder:"DURATION" help:"How long dead tasks are kept."`
	KeepBodies   *bool          `negatable:"" help:"Keep the bodies of finished tasks as long as their records, so that foliot retry can send them again."`
}

// Help shows examples below the usage line.
func (queueSetCmd) Help() string {
	return `Changes what is given and leaves the rest as it is. The value unlimited takes a limit away; 0, 0s or an empty value takes anything else away. Limits and retention count at once,
defaults for tasks that are created from now on. A task that waits for its turn spends no attempt.

Examples:

    foliot queue set mail --rate 50 --burst 100 --per-destination 4
    foliot queue set mail --max-attempts 8 --on-dead https://ops.example/dead
    foliot queue set mail --rate unlimited
    foliot queue set orders --keep-bodies --keep-finished 72h`
}

// Run reads the queue, changes it, and writes it in the version that was read.
func (c *queueSetCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	q, err := api.Queues.Get(ctx, c.Queue)
	condition := client.IfNoneMatch()
	switch {
	case errors.Is(err, client.ErrNotFound):
		q = &client.Queue{}
	case err != nil:
		return err
	case q.Version > 0:
		condition = client.IfMatch(q.ETag())
	}
	settings := q.QueueSettings
	if err := c.merge(&settings); err != nil {
		return err
	}
	q, err = api.Queues.Put(ctx, c.Queue, settings, condition)
	if errors.Is(err, client.ErrPrecondition) {
		return &fault{exitConflict, errors.New("put queue " + c.Queue + ": somebody else changed it just now; look at it with `foliot queue get`, and try again")}
	}
	if err != nil {
		return err
	}
	return sayQueue(con, q)
}

func (c *queueSetCmd) merge(s *client.QueueSettings) error {
	setLimit(&s.Rate, c.Rate)
	if s.Rate == 0 {
		s.Burst = 0 // it goes with the rate
	}
	set(&s.Burst, c.Burst) // the server refuses one without a rate
	setLimit(&s.Concurrency, c.Concurrency)
	setLimit(&s.PerDestination, c.PerDestination)
	set(&s.Retry.MinBackoff, c.MinBackoff)
	set(&s.Retry.MaxBackoff, c.MaxBackoff)
	set(&s.Timeout, c.Timeout)
	set(&s.ExpireAfter, (*client.Duration)(c.ExpireAfter))
	set(&s.OnDead, c.OnDead)
	set(&s.KeepFinished, c.KeepFinished)
	set(&s.KeepDead, c.KeepDead)
	set(&s.KeepBodies, c.KeepBodies)
	if c.MaxAttempts != nil {
		n, err := attemptsOf(*c.MaxAttempts)
		if err != nil {
			return err
		}
		s.Retry.MaxAttempts = n
	}
	if c.MaxAge != nil {
		d, err := ageOf(*c.MaxAge)
		if err != nil {
			return err
		}
		s.Retry.MaxAge = d
	}
	return nil
}

// set stores *v in *field where v is given.
func set[T any](field, v *T) {
	if v != nil {
		*field = *v
	}
}

// unlimited is the word for a limit that there is not.
const unlimited = "unlimited"

func attemptsOf(s string) (client.Limit, error) {
	switch s {
	case unlimited:
		return client.Unlimited, nil
	case "":
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, usage.Errorf("--max-attempts", "%q is neither a number nor %q", s, unlimited)
	}
	return client.Limit(n), nil
}

func ageOf(s string) (client.Duration, error) {
	switch s {
	case unlimited:
		return client.Forever, nil
	case "":
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usage.Errorf("--max-age", "%q is neither a duration, such as 24h, nor %q", s, unlimited)
	}
	return client.Duration(d), nil
}
