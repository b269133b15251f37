package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// shownRuns is how many runs of a schedule are shown with it.
	shownRuns = 5
	// runPages bounds the search for them: a list goes forwards alone, and what comes last
	// in it may stand behind a day of runs.
	runPages = 30
)

// runSearch looks for the last tasks of a schedule, and keeps them in the order of their times.
type runSearch struct {
	api   *client.Client
	name  string
	pages int // that may still be read
}

// lastRuns returns the last tasks that s made, the latest last; complete is false where too many
// stand before them. A task is due at its instant or later, so those that are due since some instants
// ago hold the last ones, if they are enough; only then is it looked further back.
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

// runBounds returns since when to look, one after the other; the last is no bound.
func runBounds(s *client.Schedule, now time.Time) []time.Time {
	latest, apart := now, s.Every
	if !s.LastAt.IsZero() {
		latest = s.LastAt
		if apart == 0 && s.NextAt.After(latest) {
			apart = s.NextAt.Sub(latest)
		}
	}
	apart = min(cmp.Or(apart, time.Hour), 30*24*time.Hour) // of what is rarer there are few
	return []time.Time{latest.Add(-shownRuns * apart), latest.Add(-50 * shownRuns * apart), {}}
}

// since returns the last of those that are due at that time or later; all is false where there
// are more than it may read.
func (r *runSearch) since(ctx context.Context, since time.Time) (runs []*client.Task, all bool, err error) {
	q := client.Query{Filter: client.Filter{Schedule: r.name}, PageSize: pageSize}
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

// runTime is the instant that a task stands for or, of one that was triggered, when that was.
func runTime(t *client.Task) time.Time {
	if t.Instant.IsZero() {
		return t.CreatedAt
	}
	return t.Instant
}

// runWords is what became of a run.
func runWords(t *client.Task) string {
	when := wording.Instant(runTime(t))
	if t.Instant.IsZero() {
		when = "triggered " + when
	}
	return fmt.Sprintf("%s (%s) %s", t.Name, when, ending(t))
}
