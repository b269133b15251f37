package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// batchCases: the items of a batch are applied in order, each by itself.
var batchCases = []testCase{
	{
		"an empty batch is answered",
		"No items, no replies, no error.",
		func(f *fixture) {
			f.transit(start, nil)
			if r, err := f.store.Peek(f.Context(), nil); err != nil || len(r) != 0 {
				f.Errorf("Peek: %v, %v", r, err)
			}
			if n, err := f.store.(store.Reaper).Reap(f.Context(), start, 10); err != nil || n != 0 {
				f.Errorf("Reap: %v, %v", n, err)
			}
		},
	},
	{
		"a large batch is carried out",
		"MaxBatch items in one call, all of them.",
		func(f *fixture) {
			changes := make([]task.Change, task.MaxBatch)
			claims := make([]task.Claim, task.MaxBatch)
			for i := range changes {
				changes[i] = task.Create{Spec: f.spec(fmt.Sprintf("t%04d", i), at(start+task.Millis(i%7)))}
			}
			for i, r := range f.batch(start, changes...) {
				if r.Err != nil || r.Effect != task.Created {
					f.Fatalf("create %d: effect %d, error %v", i, r.Effect, r.Err)
				}
				claims[i] = tasktest.Claim(r.Task, task.Token(r.Task.Name), start+1000)
			}
			for i, r := range f.transit(start+7, store.Claims(claims)) {
				if r.Err != nil || r.Task.Lease.Token != claims[i].Token {
					f.Fatalf("claim %d: %v", i, r.Err)
				}
			}
			f.reap(start+1000, task.MaxBatch)
		},
	},
	{
		"a call after the end of its context is refused or carried out",
		"A call that fails as a whole names the context's error, and repeating it is safe; it is never half an answer.",
		func(f *fixture) {
			ended, cancel := context.WithCancel(f.Context())
			cancel()
			c := task.Create{Spec: f.spec("a"), Idempotency: idem("k", "r")}
			r, err := f.store.Transit(ended, start, store.Changes([]task.Change{c}))
			if err != nil && !errors.Is(err, context.Canceled) || err == nil && len(r) != 1 {
				f.Fatalf("Transit: %d replies, error %v", len(r), err)
			}
			if again := f.apply(start, c); again.Err != nil {
				f.Fatalf("repeated: %v", again.Err)
			}
			f.get("a")
		},
	},
}
