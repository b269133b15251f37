package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// countCases: a count is a fact, not an estimate.
var countCases = []testCase{
	{
		"counts follow every change",
		"Created, claimed, settled, patched into another queue, cancelled, revived, swept: each is counted in its queue and state, with its bytes, at once.",
		func(f *fixture) {
			f.wantCounts()
			f.zoo()
			f.wantCounts()
			mail := "mail"
			for i, c := range []task.Change{
				task.Patch{Key: tasktest.Key("t1"), Queue: &mail},
				task.Patch{Key: tasktest.Key("dead"), Queue: &mail},
				task.Patch{Key: tasktest.Key("dead"), Body: &task.Body{Kind: task.TextBody, Bytes: []byte("longer than it was")}},
				task.Replace{Spec: f.spec("runs", queue("mail"), tasktest.Text("new"))},
				task.Replace{Spec: f.spec("delivered")},
				task.Revive{Key: tasktest.Key("dead")},
				task.Cancel{Key: tasktest.Key("dead")},
				task.Cancel{Key: tasktest.Key("runs")},
			} {
				f.must(start+task.Millis(i), c)
				f.wantCounts()
			}
			f.settle(start, f.get("runs"), "token", task.Outcome{Verdict: task.Success})
			f.wantCounts()
			f.sweep(start.Add(Policy.KeepFinished)+100, 3)
			f.wantCounts()
		},
	},
	{
		"a queue without records has no counts",
		"Counts names the queues that have records, so that a client's typing errors do not stay for ever.",
		func(f *fixture) {
			f.create("a", queue("typo"))
			f.must(start, task.Cancel{Key: tasktest.Key("a")})
			f.sweep(start.Add(Policy.KeepFinished), 1)
			if got, err := f.store.Counts(f.Context()); err != nil || len(got) > 0 {
				f.Errorf("%v, error %v", got, err)
			}
		},
	},
}

// wantCounts compares the counts with the records.
func (f *fixture) wantCounts() {
	f.Helper()
	if err := checkCounts(f.Context(), f.store, namespaces); err != nil {
		f.Fatal(err)
	}
}

// checkCounts compares the store's counts with its lists.
func checkCounts(ctx context.Context, s store.Store, namespaces []string) error {
	want := map[task.QueueKey]task.Counts{}
	for _, namespace := range namespaces {
		tasks, err := DrainAll(ctx, s, namespace, task.Page{Limit: 1000})
		if err != nil {
			return err
		}
		for _, t := range tasks {
			key := task.QueueKey{Namespace: t.Namespace, Queue: t.Queue}
			n := want[key]
			n.Move(nil, t)
			want[key] = n
		}
	}
	got, err := s.Counts(ctx)
	if err != nil {
		return err
	}
	for _, key := range slices.Collect(maps.Keys(got)) {
		if !slices.Contains(namespaces, key.Namespace) {
			delete(got, key)
		}
	}
	if d := diff(want, got); d != "" {
		return fmt.Errorf("the counts (- the records, + the counts):\n%s", d)
	}
	return nil
}
