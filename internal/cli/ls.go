package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type lsCmd struct {
	filterFlags

	Limit int `short:"n" default:"100" placeholder:"N" help:"Stop after so many tasks; 0 lists all (default: 100)."`
}

// Help shows examples below the usage line.
func (lsCmd) Help() string {
	return `Lists tasks, in no particular order. On a terminal they stand in a table; elsewhere each is a line of
name, state, due time, queue, attempts, URL and next attempt with a tab between them, and -o json prints each as an object. The due time is
the one that was asked for: retries do not move it.

Examples:

    foliot ls --state scheduled --due-before 10m
    foliot ls --queue mail --state dead -n 0 | cut -f1
    foliot ls --label tenant=acme -o json`
}

// pageSize is how many tasks are asked for at once.
const pageSize = 1000

// Run prints the list, page by page.
func (c *lsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if c.Limit < 0 {
		return usage.Errorf("--limit", "%d is negative; 0 lists all", c.Limit)
	}
	filter, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	out := con.table([]string{"NAME", "STATE", "DUE", "QUEUE", "ATTEMPTS", "URL", "NEXT"})
	shown, more, err := eachTask(ctx, api, client.Query{Filter: filter}, c.Limit, func(t *client.Task) error {
		if con.json {
			return con.object(t)
		}
		return out.add(listRow(t)...)
	})
	if !con.json {
		err = errors.Join(err, out.end()) // what was read is shown, whatever came then
	}
	if err != nil {
		return err
	}
	if more {
		con.notef("the first %d are shown; --limit 0 lists all", shown)
	}
	return nil
}

func listRow(t *client.Task) []string {
	tries := 0
	if n := len(t.Attempts); n > 0 {
		tries = t.Attempts[n-1].Number
	}
	return []string{t.Name, string(t.State), wording.Instant(t.DueAt), t.Queue, strconv.Itoa(tries), t.HTTP.URL, wording.InstantOr(t.NextAt, "-")}
}

// eachTask calls visit with the tasks that query chooses, at most limit of
// them where that is not 0, and reports how many there were and whether more follow.
func eachTask(ctx context.Context, api *client.Client, query client.Query, limit int, visit func(*client.Task) error) (n int, more bool, err error) {
	query.PageSize = pageSize
	if limit > 0 {
		query.PageSize = min(pageSize, limit+1) // the one too many says that there are more
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
