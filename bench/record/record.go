// Package record contains the raw results of a run and the facts needed to read
// them.
package record

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Contender is one of the compared programs, libraries or ways.
type Contender struct {
	Name  string // in flags and results
	Title string // in tables; without it, it has no row
	What  string // a sentence of description, or empty
	Ours  bool
}

// About returns the contender that a larger description embeds.
func (c Contender) About() Contender { return c }

// Named is a description of a contender.
type Named interface{ About() Contender }

// Find returns the description with a name.
func Find[T Named](all []T, name string) (*T, error) {
	for i := range all {
		if all[i].About().Name == name {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("there is no contender %q", name)
}

// Contenders returns the contenders of descriptions.
func Contenders[T Named](all []T) (list []Contender) {
	for _, x := range all {
		list = append(list, x.About())
	}
	return list
}

// Job is one measurement. Each program uses some of the fields.
type Job struct {
	Part      string        `json:"part"`
	Contender string        `json:"contender"`
	Trial     int           `json:"trial,omitempty"`   // from 1
	N         int           `json:"n,omitempty"`       // timers, tasks or connections
	Callers   int           `json:"callers,omitempty"` // goroutines at the same time
	Each      int           `json:"each,omitempty"`    // tasks in a call
	Size      int           `json:"size,omitempty"`    // bytes of a body
	Over      time.Duration `json:"over,omitempty"`    // duration of the measurement, or of all due times
	Limit     time.Duration `json:"limit,omitempty"`   // how long to wait for results
}

// Values are measured values. Some names are below.
type Values map[string]float64

// Names of values. Their units are part of the names.
const (
	WallNanos = "ns" // per operation
	CPUNanos  = "cpu_ns"
	Allocs    = "allocs"

	Bytes  = "bytes" // of memory, for each timer, task or connection
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

	CPUMs = "cpu_ms"
)

// Outcome is what a job measures.
type Outcome struct {
	Values Values            `json:"values,omitempty"`
	Texts  map[string]string `json:"texts,omitempty"`
}

// Result is a job with its outcome.
type Result struct {
	Job
	Outcome
	Failed string `json:"failed,omitempty"` // reason for missing values
}

// Run has the results of one call of a program.
type Run struct {
	Head
	Notes   map[string]string `json:"notes,omitempty"` // about the environment, for the page
	Results []Result          `json:"results"`         // in the order they were measured
}

// Failures returns a text for each failed measurement.
func (r *Run) Failures() (list []string) {
	for _, x := range r.Results {
		if x.Failed != "" {
			list = append(list, fmt.Sprintf("%s, %s: %s", x.Contender, x.Part, x.Failed))
		}
	}
	return list
}

// Like returns the results of jobs that did not fail. Fields of j that are zero
// match all jobs.
func (r *Run) Like(j Job) (list []*Result) {
	is := func(wanted, x int) bool { return wanted == 0 || wanted == x }
	for i := range r.Results {
		x := &r.Results[i]
		if x.Failed == "" && (j.Part == "" || j.Part == x.Part) && (j.Contender == "" || j.Contender == x.Contender) &&
			is(j.Trial, x.Trial) && is(j.N, x.N) && is(j.Callers, x.Callers) && is(j.Each, x.Each) && is(j.Size, x.Size) {
			list = append(list, x)
		}
	}
	return list
}

// Median returns the median of a value in the results like j, or NaN if there is
// none.
func (r *Run) Median(j Job, value string) float64 {
	var list []float64
	for _, x := range r.Like(j) {
		if v, ok := x.Values[value]; ok {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
