// Package record contains the raw results of a run and the facts needed to read
// them.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

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

// Run has the results of one call of the harness.
type Run struct {
	Head
	Skipped []Skip   `json:"skipped"`
	Results []Result `json:"-"` // in the order they were measured
}

// Save writes r to path, with one line for each result, so that diffs are
// readable.
func (r *Run) Save(path string) error {
	head, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	out := bytes.NewBuffer(bytes.TrimSuffix(head, []byte("\n}")))
	out.WriteString(",\n\t\"results\": [")
	for i := range r.Results {
		line, err := json.Marshal(&r.Results[i])
		if err != nil {
			return fmt.Errorf("encode the result of %v: %w", r.Results[i].Job, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n\t\t")
		out.Write(line)
	}
	out.WriteString("\n\t]\n}\n")
	return write(path, out.Bytes())
}

// LoadRun reads a run that Save wrote.
func LoadRun(path string) (*Run, error) {
	file := struct {
		*Run
		Lines []Result `json:"results"`
	}{Run: new(Run)}
	if err := Load(path, &file); err != nil {
		return nil, err
	}
	file.Results = file.Lines
	return file.Run, nil
}
