package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// wantCounts compares the counts with the records.
func (f *fixture) wantCounts() {
	f.Helper()
	fatal.If(f, checkCounts(f.Context(), f.store, namespaces))
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
