// Package metric has the values that benchmarks report, and their names.
package metric

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"
)

// Values are measured values. Their units are part of the names.
type Values map[string]float64

// The names of values that several benchmarks have.
const (
	Bytes     = "bytes"      // of memory, for each timer, task or connection
	Rate      = "per_second" // tasks
	Fired     = "fired"      // timers
	Lost      = "lost"       // timers that never fired
	Early     = "early"
	Doubled   = "doubled" // timers that fired again
	P50Ms     = "late_p50_ms"
	P99Ms     = "late_p99_ms"
	MaxMs     = "late_max_ms"
	CPUNanos  = "cpu_ns" // for an operation
	CPUMicros = "cpu_us"
)

// Lateness stores the distribution of the times from due to done, which it
// sorts. Those below zero are early.
func (v Values) Lateness(late []time.Duration) {
	if len(late) == 0 {
		return
	}
	slices.Sort(late)
	early, _ := slices.BinarySearch(late, 0)
	v[Early] = float64(early)
	v[P50Ms], v[P99Ms], v[MaxMs] = Millis(late[len(late)/2]), Millis(late[len(late)*99/100]), Millis(late[len(late)-1])
}

// Report reports values in place of the time of an iteration. With an error the
// benchmark fails.
func Report(b *testing.B, v Values, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op") // drops it
	for name, value := range v {
		b.ReportMetric(value, name)
	}
}

// Quick reports whether benchmarks measure little, to check that they work. So
// do those that a test calls.
func Quick() bool {
	return os.Getenv("BENCH_QUICK") != "" || flag.Lookup("test.bench").Value.String() == ""
}

// Either returns full, or quick in a quick run.
func Either[T any](full, quick T) T {
	if Quick() {
		return quick
	}
	return full
}

// Millis converts a duration.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Micros converts a duration.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
