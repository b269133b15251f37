package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// hours converts the nanoseconds of a heartbeat into seconds of CPU for an hour
// of heartbeats of 100,000 connections, each with 120.
const hours = 100_000 * 120 / 1e9

// columns compares each cost, without that of the harness, with the heap's.
func columns(r *record.Run) []page.Column {
	column := func(head, value string, factor float64) page.Column {
		of := func(name string) float64 {
			return r.Median(record.Job{Contender: name}, value) * factor
		}
		each := func(name string) float64 { return max(0, of(name)-of(contender.None)) }
		return page.Column{Head: head, Value: each, Better: page.Less, Text: func(name string) string {
			text := page.Figure(each(name))
			if percent := 100 * (each(name)/each(contender.Heap) - 1); name != contender.Heap && !math.IsNaN(percent) {
				text += fmt.Sprintf(" (%+.0f\u00a0%%)", percent)
			}
			return text
		}}
	}
	return []page.Column{
		column("the call, ns", contender.CallNanos, 1),
		column("CPU of an hour, s", record.CPUNanos, hours),
		column("bytes for a connection", record.Bytes, 1),
	}
}

// extra describes the contenders that need it, and has the largest difference
// between two trials of one of our rows. The harness is subtracted within its
// trial.
func extra(r *record.Run) map[string]string {
	most, what := 0.0, ""
	for _, x := range contender.All {
		if x.What != "" && len(r.Like(record.Job{Contender: x.Name})) > 0 {
			what += fmt.Sprintf("- *%s*: %s.\n", x.Title, x.What)
		}
		var trials []float64
		for trial := 1; trial <= 3; trial++ {
			of := func(name string) float64 {
				return r.Median(record.Job{Contender: name, Trial: trial}, record.CPUNanos) * hours
			}
			if hour := of(x.Name) - of(contender.None); !math.IsNaN(hour) {
				trials = append(trials, hour)
			}
		}
		if x.Ours && len(trials) > 0 {
			most = max(most, slices.Max(trials)-slices.Min(trials))
		}
	}
	return map[string]string{"spread": page.Figure(most), "contenders": what}
}
