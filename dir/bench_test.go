package dir

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/fatal"
)

// BenchmarkCreateMany shows how many tasks one caller creates in a second, without
// the time in which it encodes their arguments.
func BenchmarkCreateMany(b *testing.B) {
	type order struct{ ID string }
	closeOrder := foliot.NewKind[order]("close-order")
	n, err := foliot.Open(b.Context(), Store(b.TempDir()), new(foliot.Mux), foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(b, err)
	defer n.Close()
	made := 0
	for _, size := range []int{1, 100, 1000, 20_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				items := make([]foliot.Item, size)
				for i := range items {
					made++
					items[i] = closeOrder.Item(fmt.Sprint("order-", made), foliot.In(30*time.Minute), order{"42"})
				}
				b.StartTimer()
				results, err := n.CreateMany(context.Background(), items)
				fatal.If(b, err)
				fatal.If(b, results[size-1].Err)
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}
