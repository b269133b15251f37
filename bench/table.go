package main

import (
	_ "embed"
	"fmt"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed benchmarks.md.tmpl
var template string

func columns(r *record.Run) []page.Column {
	of := func(head, part string, n, callers int, value string) page.Column {
		return page.Column{Head: head, Better: page.Less, Value: func(name string) float64 {
			return r.Median(record.Job{Part: part, Contender: name, N: n, Callers: callers}, value)
		}}
	}
	return []page.Column{
		of("set and remove, ns", measure.AddRemove, million, 1, record.WallNanos),
		of("from 64 goroutines, ns", measure.AddRemove, million, crew, record.WallNanos),
		of("postpone, ns", measure.Heartbeat, million, 1, record.WallNanos),
		of("replace, ns", measure.Replace, million, 1, record.WallNanos),
		of("bytes each", measure.Standing, million, 1, record.Bytes),
		of("bytes each of 10³", measure.Standing, 1000, 1, record.Bytes),
		of("collection of 10⁷, ms", measure.Standing, tenfold, 1, record.GCMs),
		of("10⁶ in a second: CPU, ms", measure.Million, million, 1, record.FireMs),
		of("late p99, ms", measure.Accuracy, 0, 1, record.P99Ms),
		{Head: "early", Text: func(name string) string { return early(r.Like(record.Job{Part: measure.Accuracy, Contender: name})) }},
	}
}

// early returns the share of early timers in the worst trial.
func early(trials []*record.Result) string {
	text, most := page.Missing, -1.0
	for _, x := range trials {
		if share := x.Values[record.Early] / x.Values[record.Fired]; share > most {
			if text, most = "0", share; share > 0 {
				text = fmt.Sprintf("%.2g %%", 100*share)
			}
		}
	}
	return text
}
