package report

import (
	"math"

	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
)

// Missed says which targets were missed.
func (r *Run) Missed() string {
	list := []page.Target{
		page.Most("a touch, added to a read", r.net("idle-touch", 1, false), 2, "ns"),
		page.Most("a touch from 64 goroutines", r.net("idle-touch", 64, false), 2, "ns"),
		page.Most("allocations of a touch", math.Round(r.cost("idle-touch", 1, false).Allocs*1000), 0, "in a thousand"),
		page.Most("a virtual connection, in total", r.crowdBytes(), 96, "bytes"),
		page.Most("10⁶ virtual connections, without the touches", r.groupShare(), 1, "% of one processor"),
		page.Most("100,000 on one tick: other ticks shift by", r.shift(), 10, "ms"),
	}
	for _, c := range r.rows() {
		if c.info.Ours {
			list = append(list, r.onSockets(c)...)
		}
	}
	return page.Missed(list)
}

// onSockets returns the targets of one of our guards with real connections.
func (r *Run) onSockets(c row) []page.Target {
	all := "of " + page.Count(c.Connections)
	goroutines := (float64(c.Goroutines) - r.base().goroutines) / float64(c.Connections)
	return []page.Target{
		page.Most(c.info.Title+", real connections: closed wrongly", float64(c.Counters.Of(verdict.Wrong)), 0, all),
		page.Most(c.info.Title+", real connections: never closed", float64(c.Counters.Of(verdict.Never)), 0, all),
		page.Most(c.info.Title+", real connections: later than two resolutions and the allowance", float64(c.Counters.Of(verdict.Late)), 0, all),
		page.Most(c.info.Title+", real connections: goroutines for a connection", math.Round(100*goroutines)/100, 0, "more"),
		page.Most(c.info.Title+", real connections: descriptors left over", float64(c.After-c.Before), 0, "of "+page.Count(c.Peak)),
	}
}

// Noise returns the difference between two runs without timeouts.
func (r *Run) Noise() string {
	b := r.base()
	if math.IsNaN(b.cpu) || b.noise <= 0 {
		return "unknown"
	}
	return page.Figure(100*b.noise/b.cpu) + " %"
}

// GroupShare returns the cost of the group, in percent of one processor.
func (r *Run) GroupShare() string { return page.Figure(r.groupShare()) }

// CrowdBytes returns the bytes of a virtual connection.
func (r *Run) CrowdBytes() string { return page.Figure(r.crowdBytes()) }

func (r *Run) crowdBytes() float64 {
	if c := r.crowd(virtual.Near); c != nil {
		return c.Bytes
	}
	return math.NaN()
}

// Shift returns the milliseconds that a herd adds to other ticks.
func (r *Run) Shift() string { return page.Figure(r.shift()) }

func (r *Run) shift() float64 {
	for _, h := range r.herds() {
		if h.Herd.Herd > 0 && h.Work == 0 && h.MaxPerTick == 0 {
			return h.shift
		}
	}
	return math.NaN()
}
