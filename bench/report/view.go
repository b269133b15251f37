// Package report turns the raw results of a run into docs/benchmarks.md and its
// plots.
package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// view is a run with its results arranged by job.
type view struct {
	*record.Run
	trials map[record.Job][]record.Result // by the job without trial and window
}

func newView(r *record.Run) *view {
	v := &view{Run: r, trials: map[record.Job][]record.Result{}}
	for _, result := range r.Results {
		k := key(result.Workload, result.Peer, result.N, max(1, result.Goroutines))
		v.trials[k] = append(v.trials[k], result)
	}
	return v
}

func key(workload, implementation string, n, goroutines int) record.Job {
	return record.Job{Workload: workload, Peer: implementation, N: n, Goroutines: goroutines}
}

// stat summarizes the trials of a measurement. Without trials, all fields are
// NaN.
type stat struct {
	median, min, max float64
}

func (v *view) stat(k record.Job, name string) stat {
	var values []float64
	for _, r := range v.trials[k] {
		if x, ok := r.Values[name]; ok {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return stat{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(values)
	half := len(values) / 2
	median := values[half]
	if len(values)%2 == 0 {
		median = (values[half-1] + values[half]) / 2
	}
	return stat{median: median, min: values[0], max: values[len(values)-1]}
}

// median returns the median for a workload on one goroutine.
func (v *view) median(workload, implementation string, n int, name string) float64 {
	return v.stat(key(workload, implementation, n, 1), name).median
}

// sizes returns the numbers of timers of a workload on one goroutine, in
// ascending order.
func (v *view) sizes(workload string) (ns []int) {
	for k := range v.trials {
		if k.Workload == workload && k.Goroutines == 1 && !slices.Contains(ns, k.N) {
			ns = append(ns, k.N)
		}
	}
	slices.Sort(ns)
	return ns
}

// peers returns the implementations that were measured for a workload, in the
// order of the tables.
func (v *view) peers(workload string) (infos []peer.Info) {
	for _, p := range peer.All {
		for k := range v.trials {
			if k.Workload == workload && k.Peer == p.Name {
				infos = append(infos, p)
				break
			}
		}
	}
	return infos
}

// hole returns the cell for a missing value: "failed" if a trial failed.
func (v *view) hole(k record.Job) string {
	for _, r := range v.trials[k] {
		if r.Failed != "" {
			return "failed"
		}
	}
	return page.Missing
}

// cell returns the median. If the trials differ, it adds their range.
func (v *view) cell(k record.Job, name string) string {
	s := v.stat(k, name)
	switch {
	case math.IsNaN(s.median):
		return v.hole(k)
	case figure(s.min) == figure(s.max):
		return figure(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(s.median), figure(s.min), figure(s.max))
}

// worst returns the maximum of the trials. It is for faults.
func (v *view) worst(k record.Job, name string) string {
	s := v.stat(k, name)
	if math.IsNaN(s.max) {
		return v.hole(k)
	}
	return figure(s.max)
}

func (v *view) plain(k record.Job, name string) string {
	s := v.stat(k, name)
	if math.IsNaN(s.median) {
		return v.hole(k)
	}
	return figure(s.median)
}

// figure formats a number with plain spaces, for pictures and terminals. The
// median of whole numbers may end in a half: it is rounded to the even number.
func figure(x float64) string {
	if math.Abs(x) >= 9.95 {
		x = math.RoundToEven(x)
	}
	return strings.ReplaceAll(page.Figure(x), "\u00a0", " ")
}

// Number formats a number of timers.
func Number(n int) string {
	switch n {
	case 1_000:
		return "10³"
	case 100_000:
		return "10⁵"
	case 1_000_000:
		return "10⁶"
	case 10_000_000:
		return "10⁷"
	}
	return figure(float64(n))
}

// WorkloadTitle returns the workload of a job, and its number of goroutines if
// there are several.
func WorkloadTitle(j record.Job) string {
	if j.Goroutines > 1 {
		return fmt.Sprintf("%s/%d", j.Workload, j.Goroutines)
	}
	return j.Workload
}

// Brief formats a result on one line.
func Brief(v record.Values) string {
	var parts []string
	for _, unit := range []struct{ name, format string }{
		{record.WallNanos, "%s ns"},
		{record.CPUNanos, "%s ns CPU"},
		{record.Bytes, "%s B"},
		{record.GCMs, "GC %s ms"},
		{record.FireMs, "%s ms CPU"},
		{record.CPUMs, "%s ms CPU"},
		{record.Switches, "%s switches"},
		{record.P99Ms, "p99 %s ms late"},
		{record.Early, "%s early"},
		{record.Lost, "%s lost"},
		{record.Doubled, "%s twice"},
	} {
		if x, ok := v[unit.name]; ok {
			parts = append(parts, fmt.Sprintf(unit.format, figure(x)))
		}
	}
	return strings.Join(parts, ", ")
}

// accuracyOf returns the key of an implementation's accuracy check.
func (v *view) accuracyOf(implementation string) record.Job {
	for _, n := range v.sizes(measure.Accuracy) {
		return key(measure.Accuracy, implementation, n, 1)
	}
	return record.Job{}
}

// burstOf returns the key of an implementation's million.
func (v *view) burstOf(implementation string) record.Job {
	for _, n := range v.sizes(measure.Million) {
		return key(measure.Million, implementation, n, 1)
	}
	return record.Job{}
}
