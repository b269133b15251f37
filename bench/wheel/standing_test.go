package wheel

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/usage"
)

// standing measures the cost of n timers that are never moved or removed: their
// bytes, and the time of a full garbage collection. Each timer knows its
// number, from a closure or from its value. standing keeps a hundred handles
// for a check and does not count the others.
func standing[H any](n int, open opener[H]) (metric.Values, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	timers := open(make(cells, n))
	defer timers.Close()
	samples := make([]H, 0, 100)
	before := usage.Live()
	percent := debug.SetGCPercent(-1)
	for i := range n {
		h := timers.Set(delay(i), i)
		if len(samples) < cap(samples) {
			samples = append(samples, h)
		}
	}
	values := metric.Values{
		metric.Bytes: float64(usage.Live()-before) / float64(n),
		"gc_ms":      metric.Millis(usage.Collection()), // of all garbage
	}
	debug.SetGCPercent(percent)
	return values, allStand(timers, samples, n)
}

// cells is a sink for timers that never fire. It contains no pointers, so the
// collector need not scan it.
type cells []cell

type cell byte

func (c *cell) fire() { *c++ }

func (c cells) Func(i int) func()             { return c[i].fire }
func (c cells) Fire(i int)                    { c[i].fire() }
func (c cells) FireAt(i int, _ time.Duration) { c[i].fire() }
func (c cells) Now() time.Duration            { return 0 }
