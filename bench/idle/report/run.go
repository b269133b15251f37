// Package report turns the results of a run into docs/idle-benchmarks.md.
package report

import (
	_ "embed"
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed idle-benchmarks.md.tmpl
var template string

// Run has the results of one call of the program. Parts that were not measured
// are empty.
type Run struct {
	record.Head
	Shape  load.Shape      `json:"shape"`
	Loads  []load.Result   `json:"loads"` // in the order of measurement
	Costs  []activity.Cost `json:"costs"`
	Crowds []virtual.Crowd `json:"crowds"`
	Herds  []virtual.Herd  `json:"herds"`
	Failed []string        `json:"failed"`
}

// Page returns the page.
func (r *Run) Page() ([]byte, error) { return page.Fill(template, r) }

// Failures returns a text for each failure.
func (r *Run) Failures() (list []string) {
	for i := range r.Loads {
		if l := &r.Loads[i]; l.Failed != "" {
			list = append(list, l.Guard+": "+l.Failed)
		}
	}
	return append(list, r.Failed...)
}

// Connections returns their number.
func (r *Run) Connections() string { return page.Count(r.Shape.Connections) }

// row is a guard with its run under load.
type row struct {
	*load.Result
	info *guard.Info
}

// Title implements page.Contestant.
func (x row) Title() string { return x.info.Title }

// Ours implements page.Contestant.
func (x row) Ours() bool { return x.info.Ours }

// rows are the completed runs of guards that close connections.
func (r *Run) rows() (list []row) {
	for i := range r.Loads {
		info, err := guard.Find(r.Loads[i].Guard)
		if err == nil && r.Loads[i].Failed == "" && info.Name != guard.None {
			list = append(list, row{&r.Loads[i], info})
		}
	}
	return list
}

// base is the average of the runs without timeouts, and the difference between
// them: noise.
type base struct {
	cpu, noise               float64 // ns for a message
	goroutines, heap, stacks float64
}

func (r *Run) base() (b base) {
	var cpu []float64
	for i := range r.Loads {
		if l := &r.Loads[i]; l.Guard == guard.None && l.Failed == "" {
			cpu = append(cpu, median(l.PerMessage))
			b.cpu += median(l.PerMessage)
			b.goroutines += float64(l.Goroutines)
			b.heap += float64(l.Heap)
			b.stacks += float64(l.Stack)
		}
	}
	n := float64(len(cpu))
	b.cpu, b.goroutines, b.heap, b.stacks = b.cpu/n, b.goroutines/n, b.heap/n, b.stacks/n // without any run, all values are NaN
	if n > 0 {
		b.noise = slices.Max(cpu) - slices.Min(cpu)
	}
	return b
}

// median returns NaN if there is nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// cost returns the cost of one use for a guard. If it was not measured, the
// values are NaN.
func (r *Run) cost(name string, goroutines int, written bool) activity.Cost {
	for _, c := range r.Costs {
		if c.Guard == name && c.Goroutines == goroutines && c.Written == written {
			return c
		}
	}
	return activity.Cost{Nanos: math.NaN(), Allocs: math.NaN()}
}

// net returns the time of one use, minus the calls of the harness, which are
// also in the cost of the empty guard.
func (r *Run) net(name string, goroutines int, written bool) float64 {
	return max(0, r.cost(name, goroutines, written).Nanos-r.cost(guard.None, goroutines, written).Nanos)
}

// crowd returns a crowd, or nil if it was not measured.
func (r *Run) crowd(w virtual.Watch) *virtual.Crowd {
	for i := range r.Crowds {
		if r.Crowds[i].Watch == w {
			return &r.Crowds[i]
		}
	}
	return nil
}

// share is the CPU time of a crowd as a percentage of one processor's.
func share(c *virtual.Crowd) float64 { return 100 * c.CPU.Seconds() / c.Window.Seconds() }

// groupShare returns the cost of a group without that of the touches, as a
// percentage of one processor.
func (r *Run) groupShare() float64 {
	near, far := r.crowd(virtual.Near), r.crowd(virtual.Far)
	if near == nil || far == nil {
		return math.NaN()
	}
	return share(near) - share(far)
}

// herd has the trials of one configuration.
type herd struct {
	virtual.Herd         // the trial with the median latest bystander
	shift        float64 // milliseconds that the herd adds to the latest bystander of other ticks
}

// herds returns the configurations in the order of measurement. The faults of
// all trials are added up.
func (r *Run) herds() (list []herd) {
	var calm virtual.Herd
	for _, first := range r.Herds {
		same := func(h virtual.Herd) bool { return h.HerdConfig == first.HerdConfig }
		if slices.ContainsFunc(list, func(h herd) bool { return same(h.Herd) }) {
			continue
		}
		trials := slices.DeleteFunc(slices.Clone(r.Herds), func(h virtual.Herd) bool { return !same(h) })
		slices.SortStableFunc(trials, func(a, b virtual.Herd) int { return int(a.Max - b.Max) })
		h := herd{trials[len(trials)/2], math.NaN()}
		h.Stalls, h.Early, h.Open = 0, 0, 0
		for _, trial := range trials {
			h.Stalls, h.Early, h.Open = h.Stalls+trial.Stalls, h.Early+trial.Early, h.Open+trial.Open
		}
		list = append(list, h)
		if h.Herd.Herd == 0 {
			calm = h.Herd
		}
	}
	for i := range list {
		if h := &list[i]; h.Herd.Herd > 0 && calm.Timeout > 0 {
			h.shift = millis(max(0, h.Max-calm.Max))
		}
	}
	return list
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
