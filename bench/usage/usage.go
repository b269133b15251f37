// Package usage measures the resources that this process uses.
package usage

import (
	"runtime"
	"syscall"
	"time"
)

// CPU returns the processor time since the start of the process.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Live returns the number of heap bytes in use, after a garbage collection.
func Live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Collection returns the time of a full garbage collection. It is the shortest
// of five, since other processes may use the processor, or of as many as fit
// into two seconds.
func Collection() time.Duration {
	least := time.Hour
	begin := time.Now()
	for n := 0; n < 5 && (n == 0 || time.Since(begin) < 2*time.Second); n++ {
		start := time.Now()
		runtime.GC()
		least = min(least, time.Since(start))
	}
	return least
}
