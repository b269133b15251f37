// Package report turns what a run has measured into tables and docs/redis-benchmarks.md.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/receiver"
)

// The kinds of steps.
const (
	Create = "create" // tasks that are due in an hour
	Late   = "late"   // tasks that are due evenly over some time
	Drain  = "drain"  // tasks that are due in one moment
	Idle   = "idle"   // no tasks, for some time
)

// Step is one measurement, with an empty Redis and new processes.
type Step struct {
	Kind      string        `json:"kind"`
	Contender string        `json:"contender"`
	Callers   int           `json:"callers"` // goroutines that create
	Each      int           `json:"each"`    // tasks in one call
	N         int           `json:"n"`
	Size      int           `json:"size"` // bytes of a body
	Over      time.Duration `json:"over,omitempty"`
}

// Result is what became of it. Processor times are microseconds for each task, bytes are for each task.
type Result struct {
	Step
	Failed string `json:"failed,omitempty"`

	Seconds float64 `json:"seconds"` // it took to create them
	Redis   float64 `json:"redis_us"`
	Node    float64 `json:"node_us"` // of the contender's server
	Own     float64 `json:"own_us"`  // of the process that creates

	Life     float64           `json:"life_us"`      // of Redis, from the first create to the last call
	LifeNode float64           `json:"life_node_us"` // of the contender's server, likewise
	Calls    *receiver.Verdict `json:"calls,omitempty"`
	Sleep    float64           `json:"sleep_p99_ms,omitempty"` // how late this process woke from sleeps of a millisecond meanwhile

	IdleRedis float64 `json:"idle_redis_ms,omitempty"` // of its processor time in a second without tasks, milliseconds
	IdleNode  float64 `json:"idle_node_ms,omitempty"`  // of the contender's server's

	Bytes float64 `json:"bytes"`      // of memory, afterwards
	File  float64 `json:"file_bytes"` // that were appended
}

// Run is all that one call of the program measured.
type Run struct {
	Started  time.Time         `json:"started"`
	Took     float64           `json:"took"` // seconds
	Command  string            `json:"command"`
	Commit   string            `json:"commit"`
	Go       string            `json:"go"`
	Redis    string            `json:"redis"`
	Settings []string          `json:"settings"` // of Redis
	Modules  map[string]string `json:"modules"`
	Machine  record.Machine    `json:"machine"`
	Complete bool              `json:"complete"`
	Results  []Result          `json:"results"` // in the order they were measured
}

// Save writes r to path.
func (r *Run) Save(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// Load reads what Save wrote.
func Load(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read the results in %s: %w", path, err)
	}
	return r, nil
}

// Err counts what went wrong.
func (r *Run) Err() error {
	failed := 0
	for i := range r.Results {
		if r.Results[i].Failed != "" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d measurements failed", failed, len(r.Results))
}
