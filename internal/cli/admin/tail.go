package admin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Tail is the command foliot tail.
type Tail struct {
	Queue   string   `placeholder:"NAME" help:"Only attempts of this queue."`
	Outcome []string `placeholder:"delivered|failed|snoozed|refused|interrupted|lost_lease" help:"Only attempts with this outcome. Repeat it for more."`
	Last    int      `short:"n" default:"10" placeholder:"N" help:"First print the last attempts, at most this many, up to 1000 (default: 10)."`
}

func (Tail) Help() string {
	return `Prints the attempts of deliveries as they end, until Ctrl-C: the time, the task, the outcome, how late it started, the status of the
reply, and the error. A terminal shows local times. Other outputs get times in UTC, and tabs between the fields, with - for a missing
one. With -o json each attempt is an object.

In a store that several servers share, it prints the attempts of the server that replies. That server keeps at most 100 attempts a
second of a namespace, so on a busy server some are missing.

Examples:

    foliot tail
    foliot tail --queue mail --outcome failed --outcome refused
    foliot tail -n 0 -o json | jq -r .task`
}

const (
	// tailEvery is the time between two requests.
	tailEvery = time.Second
	// maxAttempts is the largest number of attempts that one request lists.
	maxAttempts = 1000
	// settleTime bounds the time from the end of an attempt until the server lists
	// it.
	settleTime = 10 * time.Second
)

func (c *Tail) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return c.follow(ctx, con, api, tailEvery)
}

func (c *Tail) follow(ctx context.Context, con *console.Console, api *client.Client, every time.Duration) error {
	if c.Last < 0 || c.Last > maxAttempts {
		return usage.Errorf("--last", "%d is not between 0 and %d", c.Last, maxAttempts)
	}
	f := &attemptFollower{seen: map[attemptKey]bool{}}
	out := con.Table([]string{"TIME", "TASK", "OUTCOME", "LATE", "WAITED", "STATUS", "ERROR"})
	for first, failed := true, false; ; first = false {
		list, err := admin.New(api).Attempts(ctx, admin.AttemptQuery{Queue: c.Queue, Outcomes: c.Outcome, Limit: maxAttempts})
		switch refused := new(client.Error); {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || errors.As(err, &refused) && refused.Status < 500):
			return err
		case err != nil && !failed:
			con.Notef("%s; trying again until Ctrl-C", con.ErrorText(err))
		case err == nil:
			fresh := f.next(list.Attempts)
			if first {
				fresh = fresh[len(fresh)-min(c.Last, len(fresh)):]
			}
			if err := printAttempts(con, out, fresh); err != nil {
				return err
			}
		}
		failed = err != nil
		if !console.Pause(ctx, every) {
			return nil
		}
	}
}

// attemptFollower finds the attempts of a list that no earlier list had.
type attemptFollower struct {
	newest time.Time // end of the newest attempt so far
	seen   map[attemptKey]bool
}

// attemptKey identifies an attempt.
type attemptKey struct {
	at              time.Time
	namespace, task string
	number          int
}

func (f *attemptFollower) next(list []admin.EndedAttempt) (fresh []admin.EndedAttempt) {
	oldest := f.newest.Add(-settleTime)
	for _, a := range slices.Backward(list) {
		key := attemptKey{a.At, a.Namespace, a.Task, a.Number}
		if f.seen[key] || a.At.Before(oldest) {
			continue
		}
		f.seen[key] = true
		fresh = append(fresh, a)
		if a.At.After(f.newest) {
			f.newest = a.At
		}
	}
	for key := range f.seen {
		if key.at.Before(f.newest.Add(-settleTime)) {
			delete(f.seen, key)
		}
	}
	return fresh
}

func printAttempts(con *console.Console, out *console.Table, attempts []admin.EndedAttempt) error {
	for _, a := range attempts {
		at := wording.Instant(a.At)
		if con.OutTerm {
			at = a.At.Local().Format("15:04:05.000")
		}
		status := "-"
		if a.Status != 0 {
			status = strconv.Itoa(a.Status)
		}
		err := out.Item(a, at, wording.Qualified(a.Namespace, a.Task), a.Outcome, wording.Millis(a.Late), wording.Millis(a.Waited), status, cmp.Or(attemptError(a), "-"))
		if err != nil {
			return err
		}
	}
	return out.End()
}

// attemptError returns the error of an attempt, and whether the task died.
func attemptError(a admin.EndedAttempt) string {
	switch {
	case !a.Dead:
		return a.Error
	case a.Error == "":
		return "the task is dead: " + a.Reason
	}
	return a.Error + "; the task is dead: " + a.Reason
}
