package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// dueCases: what comes due is counted, not estimated. The invariants of all cases
// also compare these counts with the records.
var dueCases = []testCase{
	{
		"a task is counted at its next attempt",
		"A retry, a task that was moved or run by hand, and a task of a paused queue count in the interval of their next attempt, and in their lane. Other states and schedules do not count.",
		func(f *fixture) {
			f.zoo()
			f.schedule("nightly", time.Minute)
			f.create("later", at(start+60_000))
			f.create("moved", at(start+1000))
			f.must(start, task.Patch{Key: tasktest.Key("moved"), When: &task.When{At: start + 90_000}})
			f.create("fails", at(start))
			f.claim(start, f.get("fails"), "token")
			f.settle(start, f.get("fails"), "token", task.Outcome{Verdict: task.Failure})
			f.create("paused", queue("stopped"), at(start+5000))
			f.edit(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "stopped", Paused: true})
			f.wantDue()
			if f.get("fails").Due <= start {
				f.Fatal("the case itself is wrong: the retry is not later")
			}
		},
	},
	{
		"a view counts its own tasks",
		"A count of a namespace or a queue has its own tasks, even if another name begins like it.",
		func(f *fixture) {
			for i, q := range []string{"mail", "mail-", "default"} {
				for j, n := range namespaces {
					for k := range 1 + i + 3*j {
						f.create(fmt.Sprint(q, k), queue(q), namespace(n), at(start+task.Millis(k)))
					}
				}
			}
			for _, c := range []struct {
				namespace, queue string
				want             int
			}{{"", "", 45}, {"default", "", 6}, {"default2", "mail", 4}, {"", "mail-", 15}, {"missing", "", 0}} {
				got := 0
				exact, err := f.store.Due(f.Context(), store.DueRead{Namespace: c.namespace, Queue: c.queue, Bounds: []task.Millis{start + 2, forever}, Budget: 1000}, func(_ task.Lane, _, tasks int) { got += tasks })
				if err != nil || got != c.want || exact != forever {
					f.Errorf("%+v: %d, exact until %d, error %v", c, got, exact, err)
				}
			}
		},
	},
	{
		"a bound belongs to the interval that it begins",
		"A task that is due at a bound counts after it, and a task at the last bound does not count.",
		func(f *fixture) {
			for i := range 10 {
				f.create(numbered(i), at(start+task.Millis(i)))
			}
			var got [3]int
			_, err := f.store.Due(f.Context(), store.DueRead{Bounds: []task.Millis{start + 2, start + 3, start + 8}, Budget: 1000}, func(_ task.Lane, interval, tasks int) { got[interval] += tasks })
			if want := [3]int{2, 1, 5}; err != nil || got != want {
				f.Errorf("%v, want %v, error %v", got, want, err)
			}
		},
	},
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
				if err != nil {
					f.Fatal(err)
				}
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

// wantDue compares the counts of the due index with the records.
func (f *fixture) wantDue() {
	f.Helper()
	if exact, err := checkDue(f.Context(), f.store, namespaces, math.MaxInt32); err != nil {
		f.Fatal(err)
	} else if exact != forever {
		f.Fatalf("counted until %d", exact)
	}
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
	return compareDue(ctx, s, waiting, budget)
}

// compareDue compares a store's counts of the due index with all tasks that wait.
func compareDue(ctx context.Context, s store.TaskStore, waiting []*task.Task, budget int) (task.Millis, error) {
	r := store.DueRead{Bounds: []task.Millis{forever}, Budget: budget}
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
			return 0, fmt.Errorf("the due index has %d tasks of %+v in interval %d, where none waits", n, c.lane, c.interval)
		}
	}
	return exact, nil
}
