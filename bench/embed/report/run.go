// Package report turns the results of a run into docs/embed-benchmarks.md.
package report

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
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
	Released map[string]string `json:"released"`
	NotRun   map[string]string `json:"not_run"` // from contenders to reasons
	Results  []Result          `json:"results"` // in the order they were measured
}

// Files returns the page.
func (r *Run) Files() (map[string][]byte, error) {
	text, err := page.Fill(template, r)
	return map[string][]byte{"embed-benchmarks.md": text}, err
}

// Failures returns a text for each failure.
func (r *Run) Failures() (list []string) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Failed != "" {
			list = append(list, fmt.Sprintf("%s, %s: %s", x.Contender, x.Kind, x.Failed))
		}
	}
	return list
}

// Versions lists the modules with their release dates. It replaces the list of
// record.Head.
func (r *Run) Versions() string {
	var list []string
	for _, m := range slices.Sorted(maps.Keys(r.Modules)) {
		text := m + " " + r.Modules[m]
		if date := r.Released[m]; date != "" {
			text += " (" + date + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// SyncTime returns the time of a sync, for the page.
func (r *Run) SyncTime() string { return page.Figure(r.Sync) + " ms" }

// Contenders lists the compared libraries.
func (r *Run) Contenders() (list []string) {
	for i := range contender.All {
		info := &contender.All[i]
		text := fmt.Sprintf("%s: %s.", page.Title(info.Title, info.Ours), info.What)
		if why := r.NotRun[info.Name]; why != "" {
			text += " **Not run**: " + why + "."
		}
		list = append(list, text)
	}
	return list
}

// of returns the results of one kind for one contender, without failures.
func (r *Run) of(name, kind string) (list []*Result) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Contender == name && x.Kind == kind && x.Failed == "" {
			list = append(list, x)
		}
	}
	return list
}

// median returns the median of a value over the rounds, or NaN.
func median(list []*Result, name string) float64 {
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

// first returns a step of a kind, for its sizes.
func (r *Run) first(kind string) Step {
	for i := range r.Results {
		if r.Results[i].Kind == kind {
			return r.Results[i].Step
		}
	}
	return Step{}
}

// Tasks returns the number of tasks of a kind of measurement.
func (r *Run) Tasks(kind string) string { return page.Plural(r.first(kind).N, "task") }

// Over returns the time over which a kind of measurement spreads its due times.
func (r *Run) Over(kind string) string { return r.first(kind).Over.String() }

// Limit returns how long a kind of measurement waits for handlers.
func (r *Run) Limit(kind string) string { return r.first(kind).Limit.String() }

// Rounds returns how often each rate was measured.
func (r *Run) Rounds() string {
	rounds := 0
	for i := range r.Results {
		rounds = max(rounds, r.Results[i].Round)
	}
	return page.Plural(rounds, "round")
}
