// Package report turns the results of a run into docs/embed-benchmarks.md.
package report

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed embed-benchmarks.md.tmpl
var template string

// Parts are the kinds of measurements in their order.
var Parts = []string{trial.Create, trial.Batch, trial.Standing, trial.Handle, trial.Late, trial.Soon, trial.Idle, trial.Facts, trial.Plant, trial.Hold}

// Step is one measurement, with an empty store and a new process.
type Step struct {
	Contender string        `json:"contender"`
	Kind      string        `json:"kind"`
	Round     int           `json:"round"`
	N         int           `json:"n,omitempty"`
	Callers   int           `json:"callers"`
	Each      int           `json:"each"` // tasks in a call, if the library has such a call
	For       time.Duration `json:"for,omitempty"`
	Over      time.Duration `json:"over,omitempty"`
	Limit     time.Duration `json:"limit"` // how long the step waits for handlers
}

// Result is the outcome of a step.
type Result struct {
	Step
	Failed string            `json:"failed,omitempty"`
	Values record.Values     `json:"values,omitempty"`
	Texts  map[string]string `json:"texts,omitempty"`
}

// Run has the results of one call of the program.
type Run struct {
	record.Head
	Redis    string            `json:"redis"`
	Postgres string            `json:"postgres"`
	Sync     float64           `json:"sync_ms"` // median time to append 4 KiB and sync them
	NotRun   map[string]string `json:"not_run"` // from contenders to reasons
	Results  []Result          `json:"results"` // in the order they were measured
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

// Servers returns the versions of the servers.
func (r *Run) Servers() (text string) {
	for _, server := range []struct{ name, about string }{{"Redis", r.Redis}, {"PostgreSQL", r.Postgres}} {
		if version, _, _ := strings.Cut(server.about, ","); version != "" {
			text += ", " + server.name + " " + version
		}
	}
	return text
}

// SyncTime returns the time of a sync, for the page.
func (r *Run) SyncTime() string { return page.Figure(r.Sync) + " ms" }

// of returns the results of one kind for one contender, without failures.
func (r *Run) of(name, kind string) (list []*Result) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Contender == name && x.Kind == kind && x.Failed == "" {
			list = append(list, x)
		}
	}
	return list
}

// medianOf returns the median of a value over the rounds, or NaN.
func medianOf(list []*Result, name string) float64 {
	var values []float64
	for _, x := range list {
		if v, ok := x.Values[name]; ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}
