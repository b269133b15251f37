package report

import (
	"math"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// row is a contender in the table.
type row struct{ info *contender.Info }

// Title implements page.Contestant.
func (x row) Title() string { return x.info.Title }

// Ours implements page.Contestant.
func (x row) Ours() bool { return x.info.Ours }

type column = page.Column[row]

// rows returns the contenders that have results.
func (r *Run) rows() (list []row) {
	for i := range contender.All {
		for _, kind := range Parts {
			if info := &contender.All[i]; len(r.of(info.Name, kind)) > 0 {
				list = append(list, row{info})
				break
			}
		}
	}
	return list
}

func (r *Run) columns() []column {
	median := func(head, kind, value string, better page.Better) column {
		return column{Head: head, Better: better, Value: func(x row) float64 { return medianOf(r.of(x.info.Name, kind), value) }}
	}
	count := func(head, kind, value string) column { // a missing value is 0 if the measurement was made
		c := median(head, kind, value, page.Less)
		c.Value = func(x row) float64 {
			list := r.of(x.info.Name, kind)
			if n := medianOf(list, value); len(list) == 0 || !math.IsNaN(n) {
				return n
			}
			return 0
		}
		return c
	}
	return []column{
		{Head: "creates a second, one by one", Better: page.More, Value: func(x row) float64 {
			var list []*Result
			for _, y := range r.of(x.info.Name, trial.Create) {
				if y.Callers == 16 {
					list = append(list, y)
				}
			}
			return medianOf(list, trial.Rate)
		}},
		{Head: "in batches", Value: func(x row) float64 {
			if x.info.Many == "" {
				return math.NaN()
			}
			return medianOf(r.of(x.info.Name, trial.Batch), trial.Rate)
		}},
		median("bytes of a task", trial.Standing, trial.Store, page.Less),
		median("backlog, a second", trial.Handle, trial.Rate, page.More),
		median("late p99, ms", trial.Late, record.P99Ms, page.Less),
		count("early", trial.Late, record.Early),
		median("short timers, late p99, ms", trial.Soon, record.P99Ms, page.Less),
		{Head: "CPU of a task, µs", Better: page.Less, Value: func(x row) float64 {
			list := r.of(x.info.Name, trial.Late)
			return medianOf(list, trial.OwnUs) + medianOf(list, trial.ServerUs)
		}},
		{Head: "idle, ms a second", Better: page.Less, Value: func(x row) float64 {
			list := r.of(x.info.Name, trial.Idle)
			return medianOf(list, trial.OwnMs) + medianOf(list, trial.ServerMs)
		}},
		{Head: "move", Text: func(x row) string {
			for _, y := range r.of(x.info.Name, trial.Facts) {
				return y.Texts[trial.Moves]
			}
			return page.Missing
		}},
		count("lost by kill -9", trial.Plant, record.Lost),
		{Head: "runs again after, s", Text: func(x row) string {
			for _, y := range r.of(x.info.Name, trial.Hold) {
				if again, ok := y.Values[trial.FirstS]; ok {
					return page.Figure(again)
				}
				return "over " + y.Limit.String()
			}
			return page.Missing
		}},
	}
}

// Summary is the table of the page.
func (r *Run) Summary() string { return page.Table(r.rows(), r.columns()...) }

// Losses lists the columns in which another library is better.
func (r *Run) Losses() []string { return page.Losses(r.rows(), r.columns()...) }
