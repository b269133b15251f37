package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// BenchmarkPick measures the pure core alone. All lanes have a backlog. One
// lane is chosen, its task is taken and released, and the lane gets another
// task.
func BenchmarkPick(b *testing.B) {
	limits := map[string]settings.QueueSettings{
		"": {}, ", limited": {Rate: settings.MaxRate, Burst: settings.MaxConcurrency, Concurrency: 100, PerDestination: 10},
	}
	for _, lanes := range []int{1, 1000, 100_000} {
		for name, q := range limits {
			b.Run(fmt.Sprint(lanes, " lanes", name), func(b *testing.B) { benchPick(b, lanes, q) })
		}
	}
}

func benchPick(b *testing.B, lanes int, q settings.QueueSettings) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 10_000_000, BreakAfter: 10, BreakMost: time.Minute, Slots: 1024})
	q.Name = "q"
	now, n := task.Millis(1_000_000), 0
	pl.Configure(now, settings.NewSettings(&q))
	names := make([]task.Lane, lanes)
	for i := range names {
		names[i] = task.Lane{Queue: "q", Priority: task.Normal, Destination: fmt.Sprint("host", i)}
		pl.Hint(now, task.Entry{Name: "first", Lane: names[i], Due: now})
	}
	b.ReportAllocs()
	for b.Loop() {
		n++
		pl.Tick(time.Duration(n) * time.Microsecond)
		pl.Hint(now, task.Entry{Name: "t", Lane: names[n%lanes], Due: now})
		p := pl.Take(now, 1)[0]
		pl.Begin(&p)
		pl.Answered(p.Key)
		pl.Release(&p, Replied, nil)
	}
}
