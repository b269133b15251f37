package cron

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/tasks"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// shownRuns is the number of runs that are shown with a schedule.
	shownRuns = 5
	// runPages bounds the requests for them: the ended tasks of other schedules
	// are between.
	runPages = 10
)

// lastRuns returns the last tasks of a schedule, the latest last: of those that
// have not ended, and of those that ended last. It reports all as false if it
// did not find the end of a list.
func lastRuns(ctx context.Context, api *client.Client, schedule string) (runs []*client.Task, all bool, err error) {
	visit := func(t *client.Task) error { runs = append(runs, t); return nil }
	pending := client.Query{Filter: client.Filter{Schedule: schedule, States: []client.State{client.StateScheduled, client.StateRunning}}}
	_, all, err = tasks.Each(ctx, api, pending, math.MaxInt, runPages, visit)
	if err != nil {
		return nil, false, err
	}
	ended := client.Query{Filter: client.Filter{Schedule: schedule}, LatestEnded: true}
	n, complete, err := tasks.Each(ctx, api, ended, shownRuns, runPages, visit)
	if err != nil {
		return nil, false, err
	}
	all = all && (complete || n == shownRuns)
	slices.SortStableFunc(runs, func(a, b *client.Task) int { return runTime(a).Compare(runTime(b)) })
	return runs[max(0, len(runs)-shownRuns):], all, nil
}

// runTime returns the instant of a task or, for a triggered task, the time of
// the trigger.
func runTime(t *client.Task) time.Time {
	if t.Instant.IsZero() {
		return t.CreatedAt
	}
	return t.Instant
}

func runWords(t *client.Task) string {
	when := wording.Instant(runTime(t))
	if t.Instant.IsZero() {
		when = "triggered " + when
	}
	return fmt.Sprintf("%s (%s) %s", t.Name, when, delivery.Ending(t))
}
