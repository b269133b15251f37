package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// dueCases: what comes due is counted, not estimated. The invariants of all cases
// also compare these counts with the records.
var dueCases = []testCase{
	{
		"a budget that ends leaves exact counts before some time",
		"With any budget, all lanes are counted until the same time, and this time does not go back when the budget grows.",
		func(f *fixture) {
			for i := range 300 {
				f.create(numbered(i), queue(fmt.Sprint("q", i%7)), at(start+task.Millis(i*37%100/10*10))) // several are due at the same time
			}
			last := task.Millis(0)
			for budget := 1; budget < 100_000; budget *= 2 {
				exact, err := checkDue(f.Context(), f.store, namespaces, budget)
				fatal.If(f, err)
				if exact < last {
					f.Errorf("the budget %d counts until %d, half of it until %d", budget, exact, last)
				}
				last = exact
			}
			if last <= start+90 {
				f.Errorf("counted until %d", last)
			}
		},
	},
	{
		"a count ends with its context",
		"The caller of a count may leave.",
		func(f *fixture) {
			f.create("a")
			ctx, leave := context.WithCancel(f.Context())
			leave()
			if _, err := f.store.Due(ctx, store.DueRead{Bounds: []task.Millis{forever}, Budget: 10}, func(task.Lane, int, int) {}); err == nil {
				f.Error("no error")
			}
		},
	},
}

// dueCount is the key of a count.
type dueCount struct {
	lane     task.Lane
	interval int
}

// checkDue compares a store's counts of the due index with its lists. It returns
// the time until which the store counted.
func checkDue(ctx context.Context, s store.Store, namespaces []string, budget int) (task.Millis, error) {
	var waiting []*task.Task
	for _, namespace := range namespaces {
		tasks, err := DrainAll(ctx, s, namespace, task.Page{Limit: 1000})
		if err != nil {
			return 0, err
		}
		waiting = append(waiting, slices.DeleteFunc(tasks, func(t *task.Task) bool { return t.State != task.Scheduled || t.IsSchedule() })...)
	}
	return compareDue(ctx, s, store.DueRead{Budget: budget}, waiting)
}

// compareDue compares a store's counts of the due index with the tasks that wait.
func compareDue(ctx context.Context, s store.TaskStore, r store.DueRead, waiting []*task.Task) (task.Millis, error) {
	r.Bounds = []task.Millis{forever}
	waiting = slices.DeleteFunc(slices.Clone(waiting), func(t *task.Task) bool { return !r.Selects(t.Lane()) })
	for i, t := range waiting {
		if i%3 == 0 { // so that some intervals have several tasks
			r.Bounds = append(r.Bounds, t.Due, t.Due+task.Millis(time.Second/time.Millisecond))
		}
	}
	slices.Sort(r.Bounds)
	r.Bounds = slices.Compact(r.Bounds)

	got := map[dueCount]int{}
	exact, err := s.Due(ctx, r, func(l task.Lane, interval, tasks int) { got[dueCount{l, interval}] += tasks })
	if err != nil {
		return 0, fmt.Errorf("due: %w", err)
	}
	all, early := map[dueCount]int{}, map[dueCount]int{} // of tasks that may be counted, and that must be
	for _, t := range waiting {
		at := 0
		for at < len(r.Bounds) && r.Bounds[at] <= t.Due {
			at++
		}
		all[dueCount{t.Lane(), at}]++
		if t.Due < exact {
			early[dueCount{t.Lane(), at}]++
		}
	}
	for c, n := range all {
		if got[c] > n || got[c] < early[c] {
			return 0, fmt.Errorf("the due index has %d tasks of %+v in interval %d until %d, want %d of %d", got[c], c.lane, c.interval, exact, early[c], n)
		}
	}
	for c, n := range got {
		if all[c] == 0 {
			return 0, fmt.Errorf("the due index has %d tasks of %+v in interval %d, and no task waits in it", n, c.lane, c.interval)
		}
	}
	return exact, nil
}
