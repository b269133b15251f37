package measure

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// meter measures the resources used since its start.
type meter struct {
	wall    time.Time
	cpu     time.Duration
	mallocs uint64
}

func startMeter() meter {
	return meter{mallocs: usage.Mallocs(), cpu: usage.CPU(), wall: time.Now()}
}

// perOperation returns the cost since the start, divided by the number of
// operations.
func (m meter) perOperation(ops int) record.Values {
	wall, cpu := time.Since(m.wall), usage.CPU()-m.cpu
	allocs := usage.Mallocs() - m.mallocs
	return record.Values{
		record.WallNanos: float64(wall) / float64(ops),
		record.CPUNanos:  float64(cpu) / float64(ops),
		record.Allocs:    float64(allocs) / float64(ops),
	}
}

// withoutGC disables the garbage collector, runs f, enables the collector again
// and lets it collect once.
func withoutGC(f func()) {
	percent := debug.SetGCPercent(-1)
	f()
	debug.SetGCPercent(percent)
	runtime.GC()
}
