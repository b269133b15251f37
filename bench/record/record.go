// Package record contains the raw results of a run and the facts needed to read
// them.
package record

import "time"

// Job is one measurement. It runs in a process of its own.
type Job struct {
	Workload   string        `json:"workload"`
	Peer       string        `json:"peer"`
	N          int           `json:"n"`                    // number of timers
	Goroutines int           `json:"goroutines,omitempty"` // that run in parallel
	Trial      int           `json:"trial"`
	Window     time.Duration `json:"window,omitempty"` // duration of the measurement, in nanoseconds
}

// Values are measured values. Their names are below.
type Values map[string]float64

// Names of values. Their units are part of the names.
const (
	WallNanos = "ns" // per operation
	CPUNanos  = "cpu_ns"
	Allocs    = "allocs"

	Bytes  = "bytes" // per timer
	GCMs   = "gc_ms" // a full collection
	AddMs  = "add_cpu_ms"
	FireMs = "fire_cpu_ms"

	P50Ms, P99Ms, MaxMs = "late_p50_ms", "late_p99_ms", "late_max_ms"
	Early               = "early" // timers
	EarliestMs          = "earliest_ms"
	Lost                = "lost"    // timers that never fired
	Doubled             = "doubled" // timers that fired again
	Undead              = "undead"  // timers that fired after they were removed
	Fired               = "fired"   // timers that fired

	CPUMs    = "cpu_ms"
	Switches = "switches" // context switches, voluntary or not
)

// Result is the outcome of a job.
type Result struct {
	Job
	Values Values  `json:"values,omitempty"`
	Failed string  `json:"failed,omitempty"` // reason for missing values
	Took   float64 `json:"took"`             // seconds, including preparation
}

// Skip is a measurement that was left out.
type Skip struct {
	Workload string `json:"workload"`
	Peer     string `json:"peer"`
	N        int    `json:"n"`
	Why      string `json:"why"`
}
