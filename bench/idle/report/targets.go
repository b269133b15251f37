package report

import (
	"math"

	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
)

func (r *Run) targets() (list []page.Target) {
	one, allocs := r.net("idle-touch", 1, false)
	many, _ := r.net("idle-touch", 64, false)
	list = append(list,
		page.Most("a touch, added to a read", one, 2, "ns"),
		page.Most("the same, 64 goroutines", many, 2, "ns"),
		page.Most("allocations of it", math.Round(allocs*1000), 0, "in a thousand"),
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
		page.Most("a virtual connection, in total", bytes, 96, "bytes"),
		page.Most("10⁶ of them, without the touches", r.groupShare(), 1, "% of one processor"),
		page.Most("100,000 on one tick: other ticks shift by", shift, 10, "ms"),
	)
	for _, c := range r.columns() {
		if c.info.Ours {
			list = append(list, r.onSockets(c)...)
		}
	}
	return list
}

// onSockets returns the targets of one of our guards with real connections.
func (r *Run) onSockets(c column) []page.Target {
	all := "of " + page.Count(c.Connections)
	goroutines := (float64(c.Goroutines) - r.base().goroutines) / float64(c.Connections)
	return []page.Target{
		page.Most(c.info.Title+", real connections: closed wrongly", float64(c.Counters.Of(verdict.Wrong)), 0, all),
		page.Most("the same: never closed", float64(c.Counters.Of(verdict.Never)), 0, all),
		page.Most("the same: later than two resolutions and the allowance", float64(c.Counters.Of(verdict.Late)), 0, all),
		page.Most("the same: goroutines for a connection", math.Round(100*goroutines)/100, 0, "more"),
		page.Most("the same: descriptors left over", float64(c.After-c.Before), 0, "of "+page.Count(c.Peak)),
	}
}

// Targets is the table of targets.
func (r *Run) Targets() string { return page.Targets(r.targets()).String() }
