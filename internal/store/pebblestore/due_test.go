package pebblestore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// day returns the bounds of the minutes of the first day.
func day() (bounds []task.Millis) {
	for i := range 24 * 60 {
		bounds = append(bounds, benchStart+task.Millis(i+1)*60_000)
	}
	return bounds
}

// countDue counts waiting tasks. It returns their number, and the time until
// which they were counted.
func countDue(b testing.TB, s *Store, budget int) (n int, exact task.Millis) {
	b.Helper()
	exact, err := s.Due(b.Context(), store.DueRead{Bounds: day(), Budget: budget}, func(_ task.Lane, _, tasks int) { n += tasks })
	if err != nil {
		b.Fatal(err)
	}
	return n, exact
}

// inLanes returns changes that create tasks in so many lanes.
func inLanes(first int64, n, lanes int) []task.Change {
	changes := creates(first, n, func(id int64) task.Millis { return benchStart + task.Millis(id*7919%86_400_000) })
	for i := range changes {
		c := changes[i].(task.Create)
		c.Spec.Request.URL = fmt.Sprintf("https://h%d.example/hook", (int(first)+i)%lanes)
		if err := c.Spec.Validate(benchStart); err != nil {
			panic(err)
		}
		changes[i] = c
	}
	return changes
}

// One lane has most tasks, and another many early ones: the budget is for both.
func TestABudgetIsSharedByTheLanes(t *testing.T) {
	s, err := Open("data", Config{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const lanes, each = 20, 500
	for i := range lanes {
		mustApply(t, s, inLanes(int64(i*each), each, 1+i))
	}
	const budget = 4000
	n, exact := countDue(t, s, budget)
	if n < budget/2 || n > 2*budget || exact <= benchStart {
		t.Errorf("%d tasks were counted, all until %v", n, exact.Sub(benchStart))
	}
	if n, exact := countDue(t, s, 100*lanes*each); n != lanes*each || exact != day()[24*60-1] {
		t.Errorf("%d tasks were counted, all until %v", n, exact.Sub(benchStart))
	}
}

// BenchmarkDueLanes: the lanes of a count, among 100,000.
func BenchmarkDueLanes(b *testing.B) {
	s := openDisk(b, b.TempDir())
	for first := int64(0); first < 100_000; first += 1000 {
		mustApply(b, s, inLanes(first, 1000, 100_000))
	}
	for _, queue := range []string{"", "empty"} {
		b.Run("queue="+queue, func(b *testing.B) {
			b.ReportAllocs()
			read := store.DueRead{Queue: queue, Bounds: day()}
			for b.Loop() {
				if lanes, _ := (&view{Store: s}).Lanes(b.Context(), kernel.LaneRead{Selects: read.Selects, Until: read.End() - 1, Limit: 1_000_000}); (len(lanes.Heads) == 100_000) != (queue == "") {
					b.Fatal(len(lanes.Heads))
				}
			}
		})
	}
}

// BenchmarkDue: a count of a million waiting tasks; and durable creates by one
// client, without and with counts at the same time.
func BenchmarkDue(b *testing.B) {
	const n = 1_000_000
	for _, lanes := range []int{1, 10_000} {
		s := openDisk(b, b.TempDir())
		for first := int64(0); first < n; first += 1000 {
			mustApply(b, s, inLanes(first, 1000, lanes))
		}
		count := func(b *testing.B) {
			if got, exact := countDue(b, s, 2*n); got < n || exact != day()[24*60-1] {
				b.Fatal(got, exact)
			}
		}
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			for b.Loop() {
				count(b)
			}
		})
		for _, counting := range []bool{false, true} {
			b.Run(fmt.Sprintf("lanes=%d/creates/counting=%v", lanes, counting), func(b *testing.B) {
				ctx, stop := context.WithCancel(b.Context())
				var counts sync.WaitGroup
				if counting {
					counts.Go(func() {
						for ctx.Err() == nil {
							began := time.Now()
							if _, err := s.Due(ctx, store.DueRead{Bounds: day(), Budget: 2 * n}, func(task.Lane, int, int) {}); err != nil {
								return
							}
							select { // as the API paces samples
							case <-time.After(20 * time.Since(began)):
							case <-ctx.Done():
							}
						}
					})
				}
				first := n + time.Now().UnixNano()%1_000_000*1_000_000
				for i := int64(0); b.Loop(); i++ {
					mustApply(b, s, inLanes(first+i, 1, lanes))
				}
				stop()
				counts.Wait()
			})
		}
	}
}
