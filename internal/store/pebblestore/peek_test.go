package pebblestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// Readers raise marks while tasks are created before and after the marks. The
// next read from the start of the lane must find every confirmed task.
func TestConcurrentReadsNeverHideATask(t *testing.T) {
	s := open(t, vfs.NewMem(), Config{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lane := taskOf(newSpec("x", benchStart)).Lane()
	read := store.LaneRead{Lane: lane, Until: benchStart + 1000, Limit: 10_000}
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Peek(ctx, []store.LaneRead{read}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for w := range 4 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range 150 {
				name := fmt.Sprintf("w%d-%d", w, i)
				mustApply(t, s, []task.Change{task.Create{Spec: newSpec(name, benchStart+task.Millis(rng.IntN(1000)))}})
				found, err := s.Peek(t.Context(), []store.LaneRead{read})
				if err != nil || !contains(found[0], name) {
					t.Errorf("%s was answered and is not found among %d: %v", name, len(found[0]), err)
				}
				if rng.IntN(4) > 0 {
					mustApply(t, s, []task.Change{task.Cancel{Key: tasktest.Key(name)}})
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
}

func contains(entries []task.Entry, name string) bool {
	for _, e := range entries {
		if e.Name == name {
			return true
		}
	}
	return false
}
