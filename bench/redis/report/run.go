// Package report turns the results of a run into docs/redis-benchmarks.md.
package report

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/receiver"
)

//go:embed redis-benchmarks.md.tmpl
var template string

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

// Result is the outcome of a step. Processor times are in microseconds per
// task, bytes are per task.
type Result struct {
	Step
	Failed string `json:"failed,omitempty"`

	Seconds float64 `json:"seconds"` // to create all tasks
	Redis   float64 `json:"redis_us"`
	Node    float64 `json:"node_us"` // of the contender's server
	Own     float64 `json:"own_us"`  // of the process that creates

	Life     float64           `json:"life_us"`      // of Redis, from the first create to the last call
	LifeNode float64           `json:"life_node_us"` // of the contender's server, in the same time
	Calls    *receiver.Verdict `json:"calls,omitempty"`
	Sleep    float64           `json:"sleep_p99_ms,omitempty"` // lateness of this process after sleeps of a millisecond during the step

	IdleRedis float64 `json:"idle_redis_ms,omitempty"` // processor time of Redis in a second without tasks
	IdleNode  float64 `json:"idle_node_ms,omitempty"`  // of the contender's server

	Bytes float64 `json:"bytes"`      // of memory after the step
	File  float64 `json:"file_bytes"` // appended to the file
}

// Run has the results of one call of the program.
type Run struct {
	record.Head
	Redis    string   `json:"redis"`
	Settings []string `json:"settings"` // of Redis
	Results  []Result `json:"results"`  // in the order they were measured
}

// Page returns the page.
func (r *Run) Page() ([]byte, error) { return page.Fill(template, r) }

// Failures returns a text for each failure.
func (r *Run) Failures() (list []string) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Failed != "" {
			list = append(list, fmt.Sprintf("%s, %s: %s", x.Contender, x.Kind, x.Failed))
		}
	}
	return list
}

// find returns the results of a kind for a contender that did not fail.
func (r *Run) find(contender, kind string) (list []*Result) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Contender == contender && x.Kind == kind && x.Failed == "" {
			list = append(list, x)
		}
	}
	return list
}
