package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// endedStates are all states of ended tasks.
var endedStates = []task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}

// endedCases: a list of ended tasks has the latest ends first, whatever the
// retention of the tasks is and was.
var endedCases = []testCase{
	{
		"more tasks than a page examines",
		"A page examines a bounded number of records of its namespace. Those of other namespaces do not count.",
		func(f *fixture) {
			rare := labels(map[string]string{"rare": ""})
			f.create("old", rare)
			f.must(start, task.Cancel{Key: tasktest.Key("old")})
			f.must(start, task.Create{Spec: f.spec("alone", namespace("other"))})
			f.must(start, task.Cancel{Key: task.Key{Namespace: "other", Name: "alone"}})
			f.endMany(start+10_000, task.MaxPageExamined+500)
			f.create("zz", rare)
			now, filter := start+30_000, task.Filter{Namespace: task.DefaultNamespace, States: endedStates}
			latest, err := f.store.List(f.Context(), filter, task.Page{ByEnd: now, Limit: 1})
			if err != nil || len(latest.Tasks) != 1 || latest.Tasks[0].Name != "t010000" || latest.Next == "" {
				f.Fatalf("the latest: %q, next %q, error %v", names(latest.Tasks), latest.Next, err)
			}
			other, err := f.store.List(f.Context(), task.Filter{Namespace: "other", States: endedStates}, task.Page{ByEnd: now, Limit: 2})
			if err != nil || len(other.Tasks) != 1 || other.Next != "" {
				f.Fatalf("the other namespace: %q, next %q, error %v", names(other.Tasks), other.Next, err)
			}
			filter.Labels = map[string]string{"rare": ""}
			latest, err = f.store.List(f.Context(), filter, task.Page{ByEnd: now, Limit: 10})
			if err != nil || len(latest.Tasks) != 0 || latest.Next == "" {
				f.Fatalf("the first page of a rare label: %q, next %q, error %v", names(latest.Tasks), latest.Next, err)
			}
			f.checkEnded(now, filter, 10)
			f.pagesOfMany()
		},
	},
}

// pagesOfMany: a filter that matches nothing costs at most MaxPageExamined
// records a call: the page is short or empty, with a Next.
func (f *fixture) pagesOfMany() {
	rare := task.Filter{Namespace: task.DefaultNamespace, Labels: map[string]string{"rare": ""}}
	l, err := f.store.List(f.Context(), rare, task.Page{Limit: 10, After: "old"})
	if err != nil || len(l.Tasks) != 0 || l.Next == "" || l.Next > fmt.Sprintf("t%06d", task.MaxPageExamined-1) {
		f.Fatalf("first page: %d tasks, next %q, error %v", len(l.Tasks), l.Next, err)
	}
	f.wantNames("all pages", names(f.list(rare, task.Page{Limit: 10})), "old", "zz")
}

// endMany cancels n tasks, a batch of them each second from first on.
func (f *fixture) endMany(first task.Millis, n int) {
	f.Helper()
	for i := 0; i < n; i += task.MaxBatch {
		var creates, cancels []task.Change
		for k := i; k < min(n, i+task.MaxBatch); k++ {
			name := fmt.Sprintf("t%06d", k)
			creates = append(creates, task.Create{Spec: f.spec(name, tasktest.Bodiless)})
			cancels = append(cancels, task.Cancel{Key: tasktest.Key(name)})
		}
		f.batch(first, creates...)
		f.batch(first+task.Millis(1+i), cancels...)
	}
}

// checkEnded compares the pages of a list by ends with the records.
func (f *fixture) checkEnded(now task.Millis, filter task.Filter, limit int) {
	f.Helper()
	records := f.list(task.Filter{Namespace: filter.Namespace}, task.Page{Limit: 1000})
	if err := compareEnded(f.Context(), f.store, now, filter, limit, records); err != nil {
		f.Fatalf("%+v in pages of %d: %v", filter, limit, err)
	}
}

// compareEnded compares the pages of a list by ends with the records of its
// namespace, sorted.
func compareEnded(ctx context.Context, s store.Store, now task.Millis, filter task.Filter, limit int, records []*task.Task) error {
	want := slices.DeleteFunc(slices.Clone(records), func(t *task.Task) bool { return t.KeepUntil <= now || !filter.Match(t) })
	slices.SortFunc(want, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(b.FinishedAt, a.FinishedAt), cmp.Compare(a.Name, b.Name))
	})
	got, err := drainEnded(ctx, s, filter, filter.NarrowEnded(now, task.Page{Limit: limit}))
	if err != nil {
		return err
	}
	return differ("ended tasks", names(want), names(got))
}
