package main

import (
	_ "embed"
	"math"

	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed idle-benchmarks.md.tmpl
var template string

// columns subtracts the costs of a run without timeouts from bytes and from a
// use.
func columns(r *record.Run) []page.Column {
	sockets := func(name, value string) float64 {
		return r.Median(record.Job{Part: partSockets, Contender: name}, value)
	}
	of := func(head string, better page.Better, noise, unit float64, values ...string) page.Column {
		return page.Column{Head: head, Better: better, Noise: noise, Value: func(name string) (sum float64) {
			for _, value := range values {
				sum += sockets(name, value) / unit
			}
			return sum
		}}
	}
	return []page.Column{
		of("closed wrongly", page.Less, 0, 1, verdict.Names[verdict.Wrong]),
		of("never closed", page.Less, 0, 1, verdict.Names[verdict.Never], verdict.Names[verdict.Blind]),
		of("late p50, ms", page.None, 0, 1, record.P50Ms),
		of("late p99, ms", page.Less, 1, 1, record.P99Ms),
		of("CPU for a message, µs", page.Less, noise(r)/1000, 1000, load.MessageNanos),
		{Head: "bytes for a connection", Better: page.Less, Noise: 4, Value: func(name string) float64 {
			bytes := func(name string) float64 { return sockets(name, load.Heap) + sockets(name, load.Stack) }
			for _, x := range r.Like(record.Job{Part: partSockets, Contender: name}) {
				return (bytes(name) - bytes(guard.None)) / float64(x.N)
			}
			return math.NaN()
		}},
		{Head: "a read and a write, ns", Better: page.Less, Noise: 1, Value: func(name string) float64 {
			each := func(name string) float64 {
				return r.Median(record.Job{Part: activity.ReadWrite, Contender: name, Callers: 1}, record.WallNanos)
			}
			return max(0, each(name)-each(guard.None))
		}},
	}
}

// noise is the difference between the runs without timeouts, in nanoseconds for
// a message.
func noise(r *record.Run) float64 {
	least, most := math.Inf(1), 0.0
	for _, x := range r.Like(record.Job{Part: partSockets, Contender: guard.None}) {
		least, most = min(least, x.Values[load.MessageNanos]), max(most, x.Values[load.MessageNanos])
	}
	return max(0, most-least)
}

// extra has the difference between the runs without timeouts.
func extra(r *record.Run) map[string]string {
	return map[string]string{
		"noise": page.Figure(100*noise(r)/r.Median(record.Job{Part: partSockets, Contender: guard.None}, load.MessageNanos)) + " %",
	}
}
