package pebblestore

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// BenchmarkListEnded: the 100 tasks that ended last, of 200,000.
func BenchmarkListEnded(b *testing.B) {
	s, err := Open("data", Config{FS: vfs.NewMem()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	for first := int64(0); first < 200_000; first += 1000 {
		made := creates(first, 1000, later)
		mustApply(b, s, made)
		cancels := make([]task.Change, len(made))
		for i, c := range made {
			cancels[i] = task.Cancel{Key: c.Target()}
		}
		if _, err := s.Transit(ctx, benchStart+task.Millis(first), store.Changes(cancels)); err != nil {
			b.Fatal(err)
		}
	}
	for _, limit := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d", limit), func(b *testing.B) {
			f := task.Filter{Namespace: task.DefaultNamespace, States: []task.State{task.Cancelled, task.Dead}}
			for b.Loop() {
				if got, err := s.List(ctx, f, task.Page{ByEnd: benchStart, Limit: limit}); err != nil || len(got.Tasks) != limit {
					b.Fatal(len(got.Tasks), err)
				}
			}
		})
	}
	b.Run("none", func(b *testing.B) {
		f := task.Filter{Namespace: task.DefaultNamespace, States: []task.State{task.Cancelled}, Labels: map[string]string{"no": "task"}}
		for b.Loop() {
			if got, err := s.List(ctx, f, task.Page{ByEnd: benchStart, Limit: 100}); err != nil || got.Next == "" {
				b.Fatal(got.Next, err)
			}
		}
	})
}
