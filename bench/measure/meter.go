package measure

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/record"
)

// usage is the use of resources by this process.
type usage struct {
	cpu      time.Duration
	switches int64
}

func used() usage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return usage{
		cpu:      time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		switches: u.Nvcsw + u.Nivcsw,
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// meter measures the resources used since its start.
type meter struct {
	wall    time.Time
	cpu     time.Duration
	mallocs uint64
}

func startMeter() meter {
	return meter{mallocs: mallocs(), cpu: used().cpu, wall: time.Now()}
}

// perOperation returns the cost since the start, divided by the number of
// operations.
func (m meter) perOperation(ops int) record.Values {
	wall, cpu := time.Since(m.wall), used().cpu-m.cpu
	allocs := mallocs() - m.mallocs
	return record.Values{
		record.WallNanos: float64(wall) / float64(ops),
		record.CPUNanos:  float64(cpu) / float64(ops),
		record.Allocs:    float64(allocs) / float64(ops),
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// withoutGC disables the garbage collector, runs f, enables the collector again
// and lets it collect once.
func withoutGC(f func()) {
	percent := debug.SetGCPercent(-1)
	f()
	debug.SetGCPercent(percent)
	runtime.GC()
}
