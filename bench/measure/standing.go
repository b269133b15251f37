package measure

import (
	"runtime/debug"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

// standing measures the cost of N timers that are never moved or removed: their
// bytes, and the time of a full garbage collection. Each timer knows its
// number, from a closure or from its value. standing keeps a hundred handles
// for a check and does not count the others.
func standing[H any](j record.Job, open opener[H]) (record.Values, error) {
	timers := open(make(cells, j.N))
	defer timers.Close()
	samples := make([]H, 0, 100)
	before := usage.Live()
	percent := debug.SetGCPercent(-1)
	for i := range j.N {
		h := timers.Set(delay(i), i)
		if len(samples) < cap(samples) {
			samples = append(samples, h)
		}
	}
	values := record.Values{
		record.Bytes: float64(usage.Live()-before) / float64(j.N),
		record.GCMs:  millis(usage.Collection()),
	}
	debug.SetGCPercent(percent)
	return values, allStand(timers, samples, j.N)
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
