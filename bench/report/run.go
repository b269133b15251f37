// Package report turns the raw results of a run into docs/benchmarks.md.
package report

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed benchmarks.md.tmpl
var template string

// Run has the results of one call of the harness.
type Run struct {
	record.Head
	Skipped []record.Skip   `json:"skipped"`
	Results []record.Result `json:"results"` // in the order they were measured
}

// Page returns the page.
func (r *Run) Page() ([]byte, error) { return page.Fill(template, newView(r)) }

// Failures returns a text for each failed measurement.
func (r *Run) Failures() (list []string) {
	for _, x := range r.Results {
		if x.Failed != "" {
			list = append(list, fmt.Sprintf("%s, %s, %s timers, trial %d: %s", WorkloadTitle(x.Job), x.Peer, Number(float64(x.N)), x.Trial, x.Failed))
		}
	}
	return list
}

// view is a run with its results arranged by job.
type view struct {
	*Run
	trials map[record.Job][]record.Result // by the job without trial and window
}

func newView(r *Run) *view {
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
	n := len(values)
	return stat{median: (values[(n-1)/2] + values[n/2]) / 2, min: values[0], max: values[n-1]}
}

// median returns the median for a workload on one goroutine.
func (v *view) median(workload, implementation string, n int, name string) float64 {
	return v.stat(key(workload, implementation, n, 1), name).median
}

// distinct returns the different numbers of the jobs of a workload, in
// ascending order.
func (v *view) distinct(workload string, number func(record.Job) (n int, counts bool)) (ns []int) {
	for k := range v.trials {
		if n, counts := number(k); k.Workload == workload && counts && !slices.Contains(ns, n) {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns
}

// sizes returns the numbers of timers of a workload on one goroutine.
func (v *view) sizes(workload string) []int {
	return v.distinct(workload, func(k record.Job) (int, bool) { return k.N, k.Goroutines == 1 })
}

// crews returns the numbers of goroutines of a workload that are above one.
func (v *view) crews(workload string) []int {
	return v.distinct(workload, func(k record.Job) (int, bool) { return k.Goroutines, k.Goroutines > 1 })
}

// parallelSize returns the number of timers of a workload on several
// goroutines.
func (v *view) parallelSize(workload string) int {
	return first(v.distinct(workload, func(k record.Job) (int, bool) { return k.N, k.Goroutines > 1 }))
}

// only returns the job of a workload that has one number of timers.
func (v *view) only(workload, implementation string) record.Job {
	return key(workload, implementation, first(v.sizes(workload)), 1)
}

func first(ns []int) int {
	if len(ns) == 0 {
		return 0
	}
	return ns[0]
}

// Number formats a number of timers. A power of ten is short.
func Number(n float64) string {
	const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
	if power := math.Round(math.Log10(n)); n >= 1000 && n == math.Pow(10, power) {
		return "10" + string([]rune(digits)[int(power)])
	}
	return page.Figure(n)
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
			parts = append(parts, fmt.Sprintf(unit.format, page.Figure(x)))
		}
	}
	return strings.Join(parts, ", ")
}
