package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// works runs a dispatcher on a memstore for a benchmark.
func works(b *testing.B, c Config, deliver Deliver) (*Dispatcher, *memstore.Store) {
	b.Helper()
	s := memstore.New(memstore.Config{})
	d := New(c, s, deliver)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return d, s
}

func creates(b *testing.B, from, n int, edits ...edit) []task.Change {
	changes := make([]task.Change, n)
	for i := range changes {
		changes[i] = task.Create{Spec: spec(b, fmt.Sprint("t", from+i), 0, edits...)}
	}
	return changes
}

// BenchmarkDeliver measures the cost of one task from its hint to its
// settlement. The store costs next to nothing, and the receiver replies at
// once.
func BenchmarkDeliver(b *testing.B) {
	var all sync.WaitGroup
	c := Config{Poll: time.Hour, SweepEvery: time.Hour} // the scans of a memstore must not be measured
	d, s := works(b, c, func(ctx context.Context, t task.Delivery) task.Outcome {
		defer all.Done()
		return accept(ctx, t)
	})
	all.Add(b.N)
	var batches [][]task.Change
	for from := 0; from < b.N; from += 500 {
		batches = append(batches, creates(b, from, min(500, b.N-from)))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, batch := range batches {
		if _, err := s.Transit(b.Context(), task.CeilMillis(time.Now()), store.Changes(batch)); err != nil {
			b.Fatal(err)
		}
		for d.Stats().Known > 40_000 { // beyond the window a memstore must scan
			time.Sleep(time.Millisecond)
		}
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
