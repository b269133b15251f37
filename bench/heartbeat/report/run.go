// Package report turns the results of a run into docs/heartbeat-benchmarks.md.
package report

import (
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed heartbeat-benchmarks.md.tmpl
var template string

// Run has the results of one call of the program.
type Run struct {
	record.Head
	Results []contender.Result `json:"results"` // in the order they were measured
}

// Page returns the page.
func (r *Run) Page() ([]byte, error) { return page.Fill(template, r) }

// Failures returns a text for each measurement that failed.
func (r *Run) Failures() (list []string) {
	for _, x := range r.Results {
		if x.Failed != "" {
			list = append(list, x.Contender+": "+x.Failed)
		}
	}
	return list
}

// row is a contender in the table.
type row struct{ *contender.Info }

// Title implements page.Contestant.
func (x row) Title() string { return x.Info.Title }

// Ours implements page.Contestant.
func (x row) Ours() bool { return x.Info.Ours }

// rows returns the contenders that were measured, without the harness alone.
func (r *Run) rows() (list []row) {
	for i := range contender.All {
		if info := &contender.All[i]; info.Name != contender.None && !math.IsNaN(r.median(info.Name, (*contender.Result).Each)) {
			list = append(list, row{info})
		}
	}
	return list
}

// median returns the median of a value in the trials of a contender that did
// not fail.
func (r *Run) median(name string, value func(*contender.Result) float64) float64 {
	var list []float64
	for i := range r.Results {
		if x := &r.Results[i]; x.Contender == name && x.Failed == "" {
			list = append(list, value(x))
		}
	}
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// cost returns the median of a value without that of the harness.
func (r *Run) cost(name string, value func(*contender.Result) float64) float64 {
	return max(0, r.median(name, value)-r.median(contender.None, value))
}

// Spread returns the largest difference between two trials of one of our rows, in
// seconds of an hour. The harness is subtracted within its trial.
func (r *Run) Spread() string {
	each := map[string][]float64{}
	for i := range r.Results {
		if x := &r.Results[i]; x.Failed == "" {
			each[x.Contender] = append(each[x.Contender], hour(x))
		}
	}
	most := 0.0
	for _, row := range r.rows() {
		list, none := each[row.Name], each[contender.None]
		if !row.Ours() || len(list) != len(none) {
			continue
		}
		for i := range list {
			list[i] -= none[i]
		}
		most = max(most, slices.Max(list)-slices.Min(list))
	}
	return page.Figure(most)
}

// hour returns the seconds of CPU for an hour of heartbeats.
func hour(x *contender.Result) float64 {
	return x.Each() * float64(x.Connections) * contender.BeatsInAnHour / 1e9
}

func (r *Run) columns() []page.Column[row] {
	column := func(head string, value func(*contender.Result) float64) page.Column[row] {
		each := func(x row) float64 { return r.cost(x.Name, value) }
		heap := r.cost(contender.Heap, value)
		return page.Column[row]{Head: head, Value: each, Better: page.Less, Text: func(x row) string {
			text := page.Figure(each(x))
			if percent := 100 * (each(x)/heap - 1); x.Name != contender.Heap && !math.IsNaN(percent) {
				text += fmt.Sprintf(" (%+.0f\u00a0%%)", percent)
			}
			return text
		}}
	}
	return []page.Column[row]{
		column("the call, ns", (*contender.Result).Call),
		column("CPU of an hour, s", hour),
		column("bytes for a connection", func(x *contender.Result) float64 { return x.Bytes }),
	}
}

// Summary is the table of the page.
func (r *Run) Summary() string { return page.Table(r.rows(), r.columns()...) }

// Losses lists the columns in which another way is better.
func (r *Run) Losses() []string { return page.Losses(r.rows(), r.columns()...) }

// Contenders describes the rows that need it.
func (r *Run) Contenders() (list []string) {
	for _, x := range r.rows() {
		if x.What != "" {
			list = append(list, fmt.Sprintf("*%s*: %s.", x.Info.Title, x.What))
		}
	}
	return list
}
