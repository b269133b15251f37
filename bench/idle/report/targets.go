package report

import (
	"fmt"
	"math"

	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/idle/virtual"
)

// target is what the package was to reach, and what came out.
type target struct {
	what, wanted, measured string
	reached                string
}

// most is a target of at most so many of a unit. NaN: it was not measured.
func most(what string, value, limit float64, unit string) target {
	t := target{what, fmt.Sprintf("≤ %g %s", limit, unit), figure(value) + " " + unit, "reached"}
	if limit == 0 {
		t.wanted = "0"
	}
	switch {
	case math.IsNaN(value):
		t.measured, t.reached = missing, "not measured"
	case value > limit:
		t.reached = "**not reached**"
	}
	return t
}

func (r *Run) targets() (list []target) {
	one, allocs := r.net("idle-touch", 1, false)
	many, _ := r.net("idle-touch", 64, false)
	list = append(list,
		most("a touch", one, 2, "ns"),
		most("the same, 64 goroutines", many, 2, "ns"),
		most("allocations of it", math.Round(allocs*1000), 0, "in a thousand"),
	)
	bytes := math.NaN()
	if c, ok := r.crowd(virtual.Near); ok {
		bytes = c.Bytes
	}
	shift := math.NaN()
	for _, h := range r.Herds {
		if d := r.shift(h.HerdConfig); h.Herd > 0 && h.Work == 0 && h.MaxPerTick == 0 && d >= 0 {
			shift = millis(d)
		}
	}
	list = append(list,
		most("a virtual connection, all told", bytes, 96, "bytes"),
		most("10⁶ of them, beside the touches", r.beside(), 1, "% of one processor"),
		most("100,000 on one tick: other ticks shift by", shift, 10, "ms"),
	)
	for _, c := range r.columns() {
		if c.info.Ours {
			list = append(list, r.onSockets(c)...)
		}
	}
	return list
}

// onSockets is what a guard of ours was to reach with real connections.
func (r *Run) onSockets(c column) []target {
	all := "of " + count(c.Connections)
	goroutines := (float64(c.Goroutines) - r.base().goroutines) / float64(c.Connections)
	return []target{
		most(c.info.Title+", real connections: closed wrongly", float64(c.Tally.Of(verdict.Wrong)), 0, all),
		most("the same: never closed", float64(c.Tally.Of(verdict.Never)), 0, all),
		most("the same: later than two resolutions and the allowance", float64(c.Tally.Of(verdict.Late)), 0, all),
		most("the same: goroutines for a connection", math.Round(100*goroutines)/100, 0, "more"),
		most("the same: descriptors left over", float64(c.After-c.Before), 0, "of "+count(c.Peak)),
	}
}

// Targets is the table of what was to be reached.
func (r *Run) Targets() string {
	t := &table{head: []string{"target", "wanted", "measured", ""}}
	for _, x := range r.targets() {
		t.add(x.what, x.wanted, x.measured, x.reached)
	}
	return t.String()
}
