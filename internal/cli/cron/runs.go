package cron

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// shownRuns is the number of runs that are shown with a schedule.
	shownRuns = 5
	// runsPerPage is the number of tasks that one request lists.
	runsPerPage = 1000
	// runPages bounds the pages that are read to find them. A list can only be
	// read forwards, and the last runs may follow a day of other runs.
	runPages = 30
)

// runSearch finds the last tasks of a schedule.
type runSearch struct {
	api   *client.Client
	name  string
	pages int // the number of pages that can still be read
}

// lastRuns returns the last tasks that s created, the latest last. It reports
// complete as false if there are too many tasks to find them. A task is due at
// its instant or later. So the search first reads the tasks due since a few
// instants ago, and goes further back only if those are not enough.
func lastRuns(ctx context.Context, api *client.Client, s *client.Schedule, now time.Time) (runs []*client.Task, complete bool, err error) {
	r := &runSearch{api, s.Name, runPages}
	for _, since := range runBounds(s, now) {
		found, all, err := r.since(ctx, since)
		if err != nil || !all {
			return runs, false, err
		}
		runs = found
		if len(runs) == shownRuns && !runTime(runs[0]).Before(since) {
			break
		}
	}
	return runs, true, nil
}

// runBounds returns the times since which to search, in their order. The last
// one is zero: no bound.
func runBounds(s *client.Schedule, now time.Time) []time.Time {
	latest, apart := now, s.Every
	if !s.LastAt.IsZero() {
		latest = s.LastAt
		if apart == 0 && s.NextAt.After(latest) {
			apart = s.NextAt.Sub(latest)
		}
	}
	apart = min(cmp.Or(apart, time.Hour), 30*24*time.Hour) // a rarer schedule has few tasks
	return []time.Time{latest.Add(-shownRuns * apart), latest.Add(-50 * shownRuns * apart), {}}
}

// since returns the last tasks that are due at that time or later. It reports
// all as false if there are more pages than it may read.
func (r *runSearch) since(ctx context.Context, since time.Time) (runs []*client.Task, all bool, err error) {
	q := client.Query{Filter: client.Filter{Schedule: r.name}, PageSize: runsPerPage}
	if !since.IsZero() {
		q.DueAfter = since.Add(-time.Millisecond)
	}
	for cursor := ""; r.pages > 0; {
		page, err := r.api.Tasks.Page(ctx, q, cursor)
		if err != nil {
			return nil, false, err
		}
		r.pages--
		runs = append(runs, page.Tasks...)
		slices.SortStableFunc(runs, func(a, b *client.Task) int { return runTime(a).Compare(runTime(b)) })
		runs = slices.Clone(runs[max(0, len(runs)-shownRuns):])
		if cursor = page.Next; cursor == "" {
			return runs, true, nil
		}
	}
	return nil, false, nil
}

// runTime returns the instant of a task or, for a triggered task, the time of
// the trigger.
func runTime(t *client.Task) time.Time {
	if t.Instant.IsZero() {
		return t.CreatedAt
	}
	return t.Instant
}

// runWords returns a sentence about a run and its result.
func runWords(t *client.Task) string {
	when := wording.Instant(runTime(t))
	if t.Instant.IsZero() {
		when = "triggered " + when
	}
	return fmt.Sprintf("%s (%s) %s", t.Name, when, delivery.Ending(t))
}
