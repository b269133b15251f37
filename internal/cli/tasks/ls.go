package tasks

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Ls is the command foliot ls.
type Ls struct {
	flags.Filter

	Limit int    `short:"n" default:"100" placeholder:"N" help:"List at most this many tasks; 0 lists all (default: 100)."`
	Order string `placeholder:"ORDER" help:"ended: list only delivered, cancelled, expired and dead tasks, the latest end first."`
}

// Help shows examples below the usage line.
func (Ls) Help() string {
	return `Lists tasks, in no particular order unless --order sets one. A terminal shows a table. Other outputs get one line per task: name, state, due time,
queue, attempts, URL or kind, and next attempt, separated by tabs. With -o json each task is an object. Retries do not change the
due time.

Examples:

    foliot ls --state scheduled --due-before 10m
    foliot ls --queue mail --state dead -n 0 | cut -f1
    foliot ls --label tenant=acme -o json
    foliot ls --order ended --state dead -n 20`
}

// pageSize is the number of tasks that one request lists.
const pageSize = 1000

// Run prints the list, page by page.
func (c *Ls) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Limit < 0 {
		return usage.Errorf("--limit", "%d is negative; 0 lists all", c.Limit)
	}
	filter, err := c.Resolve(time.Now())
	if err != nil {
		return err
	}
	if c.Order != "" {
		return c.latestEnded(ctx, con, api, filter)
	}
	out := con.Table(listHeading)
	shown, more, err := EachTask(ctx, api, client.Query{Filter: filter}, c.Limit, func(t *client.Task) error {
		if con.JSON {
			return con.Object(t)
		}
		return out.Add(listRow(t)...)
	})
	if err = errors.Join(err, out.End()); err != nil { // the tasks that were read before an error are printed
		return err
	}
	if more {
		con.Notef("showing the first %d; --limit 0 lists all", shown)
	}
	return nil
}

// latestEnded prints the tasks that ended last.
func (c *Ls) latestEnded(ctx context.Context, con *console.Console, api *client.Client, filter client.Filter) error {
	switch {
	case c.Order != "ended":
		return usage.Errorf("--order", "%q is not ended, the only order", c.Order)
	case c.Limit == 0 || c.Limit > pageSize:
		return usage.Errorf("--limit", "--order ended lists at most %d tasks: pass -n %d, and filters to select others", pageSize, pageSize)
	}
	page, err := api.Tasks.Page(ctx, client.Query{Filter: filter, LatestEnded: true, PageSize: c.Limit}, "")
	if err != nil {
		return err
	}
	out := con.Table([]string{"NAME", "STATE", "ENDED", "QUEUE", "ATTEMPTS", "URL", "REASON"})
	for _, t := range page.Tasks {
		if con.JSON {
			err = con.Object(t)
		} else {
			err = out.Add(t.Name, string(t.State), wording.Instant(t.FinishedAt), t.Queue, strconv.Itoa(attemptsOf(t)), wording.URLOrKind(t.HTTP.URL, t.Work.Kind), t.Reason)
		}
		if err != nil {
			return errors.Join(err, out.End())
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	switch {
	case !page.CompleteSince.IsZero():
		con.Notef("tasks that ended at %s or before can be missing: the search examined the maximum number of records", wording.Instant(page.CompleteSince))
	case page.More:
		con.Notef("showing the latest %d; use -n, or filters to select others", len(page.Tasks))
	}
	return nil
}

// listHeading is the heading of a table with rows of listRow.
var listHeading = []string{"NAME", "STATE", "DUE", "QUEUE", "ATTEMPTS", "URL", "NEXT"}

func listRow(t *client.Task) []string {
	return []string{t.Name, string(t.State), wording.Instant(t.DueAt), t.Queue, strconv.Itoa(attemptsOf(t)), wording.URLOrKind(t.HTTP.URL, t.Work.Kind), wording.InstantOr(t.NextAt, "-")}
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
