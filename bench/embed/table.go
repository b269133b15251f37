package main

import (
	_ "embed"
	"math"

	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed embed-benchmarks.md.tmpl
var template string

// rateCallers is the number of goroutines of the creates in the table.
const rateCallers = 16

func columns(r *record.Run) []page.Column {
	of := func(name, part string) record.Job { return record.Job{Contender: name, Part: part} }
	median := func(head string, better page.Better, part string, values ...string) page.Column {
		return page.Column{Head: head, Better: better, Value: func(name string) (sum float64) {
			for _, value := range values {
				sum += r.Median(of(name, part), value)
			}
			return sum
		}}
	}
	count := func(head, part, value string) page.Column { // a missing value is 0 if the measurement was made
		return page.Column{Head: head, Better: page.Less, Value: func(name string) float64 {
			if n := r.Median(of(name, part), value); len(r.Like(of(name, part))) == 0 || !math.IsNaN(n) {
				return n
			}
			return 0
		}}
	}
	return []page.Column{
		{Head: "creates a second, one by one", Better: page.More, Value: func(name string) float64 {
			return r.Median(record.Job{Contender: name, Part: trial.Create, Callers: rateCallers}, trial.Rate)
		}},
		median("in batches", page.None, trial.Batch, trial.Rate),
		median("bytes of a task", page.Less, trial.Standing, trial.Store),
		median("backlog, a second", page.More, trial.Handle, trial.Rate),
		median("late p99, ms", page.Less, trial.Late, record.P99Ms),
		count("early", trial.Late, record.Early),
		median("short timers, late p99, ms", page.Less, trial.Soon, record.P99Ms),
		median("CPU of a task, µs", page.Less, trial.Late, trial.OwnUs, trial.ServerUs),
		median("idle, ms a second", page.Less, trial.Idle, trial.OwnMs, trial.ServerMs),
		{Head: "move", Text: func(name string) string {
			for _, x := range r.Like(of(name, trial.Facts)) {
				return x.Texts[trial.Moves]
			}
			return page.Missing
		}},
		count("lost by kill -9", trial.Plant, record.Lost),
		{Head: "runs again after, s", Text: func(name string) string {
			for _, x := range r.Like(of(name, trial.Hold)) {
				if again, ok := x.Values[trial.FirstS]; ok {
					return page.Figure(again)
				}
				return "over " + x.Limit.String()
			}
			return page.Missing
		}},
	}
}
