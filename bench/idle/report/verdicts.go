package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
)

// Targets is the table of targets.
func (r *Run) Targets() string {
	bytes, shift := math.NaN(), math.NaN()
	if c := r.crowd(virtual.Near); c != nil {
		bytes = c.Bytes
	}
	for _, h := range r.herds() {
		if h.Herd.Herd > 0 && h.Work == 0 && h.MaxPerTick == 0 {
			shift = h.shift
		}
	}
	list := []page.Target{
		page.Most("a touch, added to a read", r.net("idle-touch", 1, false), 2, "ns"),
		page.Most("the same, 64 goroutines", r.net("idle-touch", 64, false), 2, "ns"),
		page.Most("allocations of it", math.Round(r.cost("idle-touch", 1, false).Allocs*1000), 0, "in a thousand"),
		page.Most("a virtual connection, in total", bytes, 96, "bytes"),
		page.Most("10⁶ of them, without the touches", r.groupShare(), 1, "% of one processor"),
		page.Most("100,000 on one tick: other ticks shift by", shift, 10, "ms"),
	}
	for _, c := range r.columns() {
		if c.info.Ours {
			list = append(list, r.onSockets(c)...)
		}
	}
	return page.Targets(list)
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

// measure is a figure that is better if lower.
type measure struct {
	What  string
	noise float64 // values with a smaller difference are equal
	value func(column) float64
	Best  string // the best guards and their equals
	Ours  string // the other guards of ours
}

// Wins returns for each measure the best guards, their equals, and our own
// results. They come from the results.
func (r *Run) Wins() []measure {
	b, columns := r.base(), slices.DeleteFunc(r.columns(), func(c column) bool { return !c.Competes() })
	measures := []measure{
		{What: "connections that were closed wrongly, or never although their timeout was over", value: func(c column) float64 {
			return float64(c.Counters.Of(verdict.Wrong) + c.Counters.Of(verdict.Never) + c.Counters.Of(verdict.Blind))
		}},
		{What: "late, p99 (ms)", noise: 1, value: func(c column) float64 { return millis(c.Counters.P99) }},
		{What: "CPU for a message (µs)", noise: b.noise / 1000, value: func(c column) float64 { return median(c.PerMessage) / 1000 }},
		{What: "bytes for a connection, heap and stack", noise: 4, value: func(c column) float64 {
			return (float64(c.Heap+c.Stack) - b.heap - b.stacks) / float64(c.Connections)
		}},
		{What: "a read and a write (ns)", noise: 1, value: func(c column) float64 { return r.net(c.info.Name, 1, true) }},
	}
	for i := range measures {
		measures[i].compare(columns)
	}
	return slices.DeleteFunc(measures, func(m measure) bool { return m.Best == "" })
}

func (m *measure) compare(columns []column) {
	least := math.Inf(1)
	for _, c := range columns {
		if x := m.value(c); x < least {
			least = x
		}
	}
	var best, ours []string
	for _, c := range columns {
		text := fmt.Sprintf("%s %s", c.info.Title, page.Figure(m.value(c)))
		switch {
		case m.value(c) <= least+m.noise:
			best = append(best, text)
		case c.info.Ours:
			ours = append(ours, text)
		}
	}
	m.Best, m.Ours = strings.Join(best, "; "), strings.Join(ours, "; ")
}
