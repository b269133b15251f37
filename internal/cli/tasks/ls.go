package tasks

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Ls is the command foliot ls.
type Ls struct {
	flags.Filter

	Limit int    `short:"n" default:"100" placeholder:"N" help:"List at most this many tasks; 0 lists all, in no particular order (default: 100)."`
	Sort  string `aliases:"order" placeholder:"ended" help:"ended: only tasks that have ended, the latest end first (default: scheduled and running tasks first)."`
}

func (Ls) Help() string {
	return `Lists tasks: first those that are scheduled or running, then those that have ended. A terminal shows a table with local times.
Other outputs get one line per task: name, state, due time in UTC, queue, attempts, URL or kind, and next attempt, separated by tabs.
With -o json each task is an object. Retries do not change the due time.

Examples:

    foliot ls --state scheduled --due-before 10m
    foliot ls --queue mail --state dead -n 0 | cut -f1
    foliot ls --label tenant=acme -o json
    foliot ls --sort ended --state dead -n 20`
}

// pageSize is the number of tasks that one request lists.
const pageSize = 1000

func (c *Ls) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Limit < 0 {
		return usage.Errorf("--limit", "%d is negative; 0 lists all", c.Limit)
	}
	if c.Sort != "" && c.Sort != "ended" {
		return usage.Errorf("--sort", "%q is no order of the server, which sorts only by the end (ended); foliot upcoming lists what is due next; for another order, sort the output of -o json -n 0", c.Sort)
	}
	filter, err := c.Resolve(time.Now())
	if err != nil {
		return err
	}
	switch {
	case c.Sort == "ended":
		err = c.latestEnded(ctx, con, api, filter)
	case c.Limit == 0:
		err = c.all(ctx, con, api, filter)
	default:
		err = c.pendingFirst(ctx, con, api, filter)
	}
	if err == nil {
		con.NoteIfEmpty()
	}
	return err
}

// all prints all tasks in one pass, so that none is printed twice.
func (c *Ls) all(ctx context.Context, con *console.Console, api *client.Client, filter client.Filter) error {
	list := newTaskTable(con)
	_, _, err := Each(ctx, api, client.Query{Filter: filter}, math.MaxInt, math.MaxInt, list.add)
	return errors.Join(err, list.End()) // the tasks that were read before an error are printed
}

func (c *Ls) latestEnded(ctx context.Context, con *console.Console, api *client.Client, filter client.Filter) error {
	out := con.Table([]string{"NAME", "STATE", "ENDED", "QUEUE", "ATTEMPTS", "URL", "REASON", "LAST ERROR"})
	limit := c.Limit
	if limit == 0 {
		limit = math.MaxInt
	}
	shown, all, err := Each(ctx, api, client.Query{Filter: filter, LatestEnded: true}, limit, math.MaxInt, func(t *client.Task) error {
		return out.Item(t, t.Name, string(t.State), con.Instant(t.FinishedAt), t.Queue, strconv.Itoa(lastAttempt(t).Number), wording.URLOrKind(t.HTTP.URL, t.Work.Kind), t.Reason, lastAttempt(t).Error)
	})
	err = errors.Join(err, out.End()) // the tasks that were read before an error are printed
	if err == nil && !all {
		con.Notef("showing the latest %d; --limit 0 lists all", shown)
	}
	return err
}

// taskTable prints tasks as rows, or as objects with -o json.
type taskTable struct {
	*console.Table
	con *console.Console
}

func newTaskTable(con *console.Console) taskTable {
	return taskTable{con.Table([]string{"NAME", "STATE", "DUE", "QUEUE", "ATTEMPTS", "URL", "NEXT"}), con}
}

func (l taskTable) add(t *client.Task) error {
	return l.Item(t, t.Name, delivery.StateOf(t), l.con.Instant(t.DueAt), t.Queue, strconv.Itoa(lastAttempt(t).Number), wording.URLOrKind(t.HTTP.URL, t.Work.Kind), l.con.Instant(t.NextAt))
}

func lastAttempt(t *client.Task) (a client.Attempt) {
	if n := len(t.Attempts); n > 0 {
		a = t.Attempts[n-1]
	}
	return a
}

// maxRequests bounds the requests that search for tasks before others are
// printed. One request examines at least 10,000 records.
const maxRequests = 20

// pendingFirst prints the tasks that are scheduled or running, and then those
// that have ended.
func (c *Ls) pendingFirst(ctx context.Context, con *console.Console, api *client.Client, filter client.Filter) error {
	list, left := newTaskTable(con), c.Limit
	pending, ended := byPending(filter)
	more, searched := false, true // more tasks match than were printed; all pending tasks were found
	for _, pass := range []struct {
		states   []client.State
		requests int
	}{{pending, maxRequests}, {ended, math.MaxInt}} {
		if len(pass.states) == 0 || more {
			continue
		}
		filter.States = pass.states
		if len(ended) == 0 {
			pass.requests = math.MaxInt // no other tasks wait for the end of the search
		}
		shown, all, err := Each(ctx, api, client.Query{Filter: filter}, left, pass.requests, list.add)
		if err != nil {
			return errors.Join(err, list.End()) // the tasks that were read before an error are printed
		}
		left -= shown
		searched = searched && (all || left == 0)
		more = !all && left == 0
	}
	if err := list.End(); err != nil {
		return err
	}
	if !searched {
		con.Notef("scheduled and running tasks can be missing: the search examined the maximum number of records; --state scheduled --state running lists them all")
	}
	if more {
		con.Notef("showing the first %d; --limit 0 lists all", c.Limit)
	}
	return nil
}

// byPending splits the states of a filter into those of tasks that have not
// ended and the others. A task with a reason or an end has ended.
func byPending(filter client.Filter) (pending, ended []client.State) {
	states := filter.States
	if len(states) == 0 {
		states = []client.State{client.StateScheduled, client.StateRunning, client.StateDelivered, client.StateCancelled, client.StateExpired, client.StateDead}
	}
	for _, s := range states {
		if s == client.StateScheduled || s == client.StateHeld || s == client.StateRunning {
			pending = append(pending, s)
		} else {
			ended = append(ended, s)
		}
	}
	if (filter.Reason != "" || !filter.EndedAfter.IsZero() || !filter.EndedBefore.IsZero()) && len(ended) > 0 {
		pending = nil
	}
	return pending, ended
}

// Each calls visit with at most limit tasks that query selects, and sends at most
// requests requests. It returns the number of calls, and whether no other tasks
// match.
func Each(ctx context.Context, api *client.Client, query client.Query, limit, requests int, visit func(*client.Task) error) (n int, all bool, err error) {
	query.PageSize = min(pageSize-1, limit) + 1 // one more than limit shows whether more follow
	for cursor := ""; requests > 0; requests-- {
		page, err := api.Tasks.Page(ctx, query, cursor)
		if err != nil {
			return n, false, err
		}
		for _, t := range page.Tasks {
			if n == limit {
				return n, false, nil
			}
			if err := visit(t); err != nil {
				return n, false, err
			}
			n++
		}
		if cursor = page.Next; cursor == "" {
			return n, true, nil
		}
	}
	return n, false, nil
}
