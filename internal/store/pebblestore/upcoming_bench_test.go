package pebblestore

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// BenchmarkUpcoming: the next 100 and 1000 of a million tasks.
func BenchmarkUpcoming(b *testing.B) {
	const tasks = 1_000_000
	for _, lanes := range []int64{1, 10_000, 100_000} {
		s, err := Open("data", Config{FS: vfs.NewMem()})
		if err != nil {
			b.Fatal(err)
		}
		for first := int64(0); first < tasks; first += 1000 {
			changes := creates(first, 1000, func(i int64) task.Millis { return benchStart + task.Millis(i*7919%tasks) })
			for i, c := range changes {
				spec := c.(task.Create)
				spec.Spec.Request.Destination = fmt.Sprintf("host%d.example:443", (first+int64(i))%lanes)
				changes[i] = spec
			}
			mustApply(b, s, changes)
		}
		for _, limit := range []int{100, 1000} {
			b.Run(fmt.Sprintf("lanes=%d/limit=%d", lanes, limit), func(b *testing.B) {
				read := store.UpcomingRead{Namespace: task.DefaultNamespace, Until: benchStart + tasks, Limit: limit}
				b.ReportAllocs()
				for b.Loop() {
					if page, err := s.Upcoming(context.Background(), read); err != nil || len(page.Tasks) != limit {
						b.Fatal(len(page.Tasks), err)
					}
				}
			})
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
