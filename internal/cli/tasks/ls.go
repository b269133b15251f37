package tasks

import (
	"context"
	"errors"
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
	Sort  string `aliases:"order" placeholder:"due|name|created|ended" help:"due: the earliest first. created: the latest first. ended: only tasks that have ended, the latest end first. The server can sort only by ended, so for the others at most 1000 tasks are read and sorted."`
}

// Help shows examples below the usage line.
func (Ls) Help() string {
	return `Lists tasks: first those that are scheduled or running, then those that have ended. A terminal shows a table with local times.
Other outputs get one line per task: name, state, due time in UTC, queue, attempts, URL or kind, and next attempt, separated by tabs.
With -o json each task is an object. Retries do not change the due time.

Examples:

    foliot ls --state scheduled --due-before 10m
    foliot ls --queue mail --sort due
    foliot ls --queue mail --state dead -n 0 | cut -f1
    foliot ls --label tenant=acme -o json
    foliot ls --sort ended --state dead -n 20`
}

// pageSize is the number of tasks that one request lists.
const pageSize = 1000

// Run prints the list, page by page.
func (c *Ls) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Limit < 0 {
		return usage.Errorf("--limit", "%d is negative; 0 lists all", c.Limit)
	}
	order, sorts := orders[c.Sort]
	switch {
	case c.Sort != "" && c.Sort != "ended" && !sorts:
		return usage.Errorf("--sort", "%q is not one of due, name, created, ended", c.Sort)
	case sorts && c.Limit > pageSize:
		return usage.Errorf("--limit", "--sort %s lists at most %d tasks: pass -n %d, and filters to select others", c.Sort, pageSize, pageSize)
	}
	filter, err := c.Resolve(time.Now())
	if err != nil {
		return err
	}
	switch {
	case c.Sort == "ended":
		err = c.latestEnded(ctx, con, api, filter)
	case sorts:
		err = c.sorted(ctx, con, api, filter, order)
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
	_, _, err := EachTask(ctx, api, client.Query{Filter: filter}, 0, list.add)
	return errors.Join(err, list.End()) // the tasks that were read before an error are printed
}

// latestEnded prints the tasks that ended last.
func (c *Ls) latestEnded(ctx context.Context, con *console.Console, api *client.Client, filter client.Filter) error {
	out := con.Table([]string{"NAME", "STATE", "ENDED", "QUEUE", "ATTEMPTS", "URL", "REASON"})
	shown, more, err := EachTask(ctx, api, client.Query{Filter: filter, LatestEnded: true}, c.Limit, func(t *client.Task) error {
		return out.Item(t, t.Name, string(t.State), con.Instant(t.FinishedAt), t.Queue, strconv.Itoa(attemptsOf(t)), wording.URLOrKind(t.HTTP.URL, t.Work.Kind), t.Reason)
	})
	err = errors.Join(err, out.End()) // the tasks that were read before an error are printed
	if err == nil && more {
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
	return l.Item(t, t.Name, delivery.StateOf(t), l.con.Instant(t.DueAt), t.Queue, strconv.Itoa(attemptsOf(t)), wording.URLOrKind(t.HTTP.URL, t.Work.Kind), l.con.Instant(t.NextAt))
}

// attemptsOf returns the number of attempts of a task.
func attemptsOf(t *client.Task) int {
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1].Number
	}
	return 0
}

// EachTask calls visit with each task that query selects. A limit above 0 is
// the largest number of calls. It returns the number of calls, and whether more
// tasks follow.
func EachTask(ctx context.Context, api *client.Client, query client.Query, limit int, visit func(*client.Task) error) (n int, more bool, err error) {
	query.PageSize = pageSize
	if limit > 0 {
		query.PageSize = min(pageSize, limit+1) // one more than limit shows whether more follow
	}
	for t, err := range api.Tasks.List(ctx, query) {
		if err != nil {
			return n, false, err
		}
		if limit > 0 && n == limit {
			return n, true, nil
		}
		if err := visit(t); err != nil {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}
