package tasks

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
)

// maxRequests bounds the requests that search for tasks before others are
// printed. One request examines up to 10,000 records.
const maxRequests = 20

// orders compare tasks for --sort. The server has no index for them.
var orders = map[string]func(a, b *client.Task) int{
	"due":     func(a, b *client.Task) int { return a.DueAt.Compare(b.DueAt) },
	"name":    func(a, b *client.Task) int { return cmp.Compare(a.Name, b.Name) },
	"created": func(a, b *client.Task) int { return b.CreatedAt.Compare(a.CreatedAt) },
}

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
		shown, all, err := readTasks(ctx, api, filter, left, pass.requests, list.add)
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
// ended and the others. A task with a reason has ended.
func byPending(filter client.Filter) (pending, ended []client.State) {
	states := filter.States
	if len(states) == 0 {
		states = []client.State{client.Scheduled, client.Running, client.Delivered, client.Cancelled, client.Expired, client.Dead}
	}
	for _, s := range states {
		if s == client.Scheduled || s == client.Held || s == client.Running {
			pending = append(pending, s)
		} else {
			ended = append(ended, s)
		}
	}
	if filter.Reason != "" && len(ended) > 0 {
		pending = nil
	}
	return pending, ended
}

// sorted prints the first tasks of an order. The server lists tasks in no
// order, so if there are too many, only some of them are sorted.
func (c *Ls) sorted(ctx context.Context, con *console.Console, api *client.Client, filter client.Filter, order func(a, b *client.Task) int) error {
	var read []*client.Task
	_, complete, err := readTasks(ctx, api, filter, pageSize, maxRequests, func(t *client.Task) error {
		read = append(read, t)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(read, func(a, b *client.Task) int { return cmp.Or(order(a, b), cmp.Compare(a.Name, b.Name)) })
	shown := read
	if c.Limit > 0 {
		shown = read[:min(c.Limit, len(read))]
	}
	list := newTaskTable(con)
	for _, t := range shown {
		if err := list.add(t); err != nil {
			return errors.Join(err, list.End())
		}
	}
	if err := list.End(); err != nil {
		return err
	}
	switch {
	case !complete:
		con.Notef("the server cannot sort by %s: only the first %d tasks of its list are sorted, and others can match; use filters to select fewer", c.Sort, len(read))
	case len(shown) < len(read):
		con.Notef("showing the first %d of %d; use -n for more", len(shown), len(read))
	}
	return nil
}

// readTasks calls visit with at most limit tasks, and sends at most requests
// requests. It returns the number of calls, and whether no other tasks match.
func readTasks(ctx context.Context, api *client.Client, filter client.Filter, limit, requests int, visit func(*client.Task) error) (n int, complete bool, err error) {
	query := client.Query{Filter: filter, PageSize: min(pageSize, limit+1)} // one more than limit shows whether more follow
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
