package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
)

// row is a row of a table that has a column for each guard.
type row = page.Row[column]

// whole is a row of whole numbers.
func whole(what string, count func(column) int) row {
	return row{What: what, Text: func(c column) string { return page.Count(count(c)) }}
}

// verdicts is a row of the connections with a verdict.
func verdicts(what string, v verdict.Verdict) row {
	return whole(what, func(c column) int { return c.Counters.Of(v) })
}

// less is a row of numbers with the smallest in bold.
func less(what string, value func(column) float64) row {
	return row{What: what, Value: value, Best: true}
}

// late is such a row of a lateness in milliseconds.
func late(what string, value func(*verdict.Counters) float64) row {
	return less(what, func(c column) float64 {
		if c.Counters.Of(verdict.OnTime)+c.Counters.Of(verdict.Late) == 0 {
			return math.NaN()
		}
		return value(&c.Counters)
	})
}

// Closed is the table of the closed connections of each guard.
func (r *Run) Closed() string {
	columns := r.columns()
	rows := []row{
		whole("connections", func(c column) int { return c.Connections }),
		verdicts("alive and kept", verdict.Kept),
		verdicts("closed on time", verdict.OnTime),
		verdicts("closed late", verdict.Late),
		verdicts("closed wrongly", verdict.Wrong),
		verdicts("never closed", verdict.Never),
		verdicts("never closed: cannot tell", verdict.Blind),
	}
	if slices.ContainsFunc(columns, func(c column) bool { return c.Counters.Of(verdict.Excused) > 0 }) {
		rows = append(rows, verdicts("closed: the peer was late itself", verdict.Excused))
	}
	rows = append(rows,
		less("promised: late by, ms", func(c column) float64 {
			if !c.Competes() {
				return math.NaN()
			}
			return millis(c.info.Slack(r.Shape.Timeout))
		}),
		late("late, median, ms", func(t *verdict.Counters) float64 { return millis(t.P50) }),
		late("late, p99, ms", func(t *verdict.Counters) float64 { return millis(t.P99) }),
		late("late, most, ms", func(t *verdict.Counters) float64 { return millis(t.Max) }),
	)
	if slices.ContainsFunc(columns, func(c column) bool { return c.Stalls > 0 }) {
		rows = append(rows, whole("stalls: all got a new timeout", func(c column) int { return c.Stalls }))
	}
	return page.Compare("", columns, rows...)
}

// Kinds is the table of the fates of each kind of peer.
func (r *Run) Kinds() string {
	columns := r.columns()
	var rows []row
	for k := range client.Kind(client.Kinds) {
		if len(columns) > 0 {
			rows = append(rows, row{
				What: fmt.Sprintf("%s: %s", k, page.Count(columns[0].Counters.Total(k))),
				Text: func(c column) string { return outcome(c.Counters.Kinds[k], k.Alive()) },
			})
		}
	}
	return page.Compare("peers", columns, rows...)
}

// outcome returns the cell of a kind: one word if all connections ended in the
// same way.
func outcome(counts [verdict.Verdicts]int, alive bool) string {
	words := [verdict.Verdicts]string{"kept", "on time", "late", "**wrongly closed**", "**never**", "cannot tell", "late themselves"}
	good, last, others := verdict.OnTime, "", ""
	if alive {
		good = verdict.Kept
	}
	for v, n := range counts {
		if n > 0 && verdict.Verdict(v) != good {
			last, others = words[v], others+fmt.Sprintf(", %s %s", page.Count(n), words[v])
		}
	}
	switch {
	case others == "":
		return words[good]
	case counts[good] == 0 && others == fmt.Sprintf(", %s %s", page.Count(sum(counts)), last):
		return last
	}
	return page.Count(counts[good]) + " " + words[good] + others
}

func sum(counts [verdict.Verdicts]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// more writes a difference.
func more(x float64) string {
	text := page.Figure(x)
	if x > 0 && text != "0" && text != page.Missing {
		return "+" + text
	}
	return text
}

func micros(ns float64) string { return page.Figure(ns / 1000) }

// Spent is the table of the server's cost for each guard.
func (r *Run) Spent() string {
	b := r.base()
	difference := func(what string, value func(column) float64) row {
		return row{What: what, Value: value, Write: more, Best: true}
	}
	return page.Compare("", r.columns(),
		row{What: "CPU for a message, µs", Value: func(c column) float64 { return median(c.PerMessage) }, Write: micros, Best: true},
		row{What: "of the parts of the window, µs", Text: func(c column) string {
			return micros(slices.Min(c.PerMessage)) + "–" + micros(slices.Max(c.PerMessage))
		}},
		difference("more than without timeouts, %", func(c column) float64 { return 100 * (median(c.PerMessage)/b.cpu - 1) }),
		less("CPU in total, s", func(c column) float64 { return c.CPU.Seconds() }),
		difference("goroutines more", func(c column) float64 { return float64(c.Goroutines) - b.goroutines }),
		difference("bytes more for a connection, heap", func(c column) float64 { return (float64(c.Heap) - b.heap) / float64(c.Connections) }),
		difference("the same, stacks", func(c column) float64 { return (float64(c.Stack) - b.stacks) / float64(c.Connections) }),
		row{What: "descriptors before, open, after", Text: func(c column) string {
			return page.Count(c.Before) + ", " + page.Count(c.Peak) + ", " + page.Count(c.After)
		}},
	)
}

// Noise describes the noise in the CPU time.
func (r *Run) Noise() string {
	b := r.base()
	if math.IsNaN(b.cpu) || b.noise <= 0 {
		return "The run without timeouts was done once: how much of the CPU time is noise is not known."
	}
	return fmt.Sprintf("The run without timeouts was done twice, first and last. The two are %s µs apart, which is %s %%. Differences of that size are noise.",
		micros(b.noise), page.Figure(100*b.noise/b.cpu))
}

// Uses is the table of the cost of one use.
func (r *Run) Uses() string {
	var columns []column
	for i := range guard.All {
		if info := &guard.All[i]; !math.IsNaN(r.cost(info.Name, 1, false).Nanos) {
			columns = append(columns, column{info: info})
		}
	}
	use := func(what string, goroutines int, written bool) row {
		return less(what, func(c column) float64 { return r.cost(c.info.Name, goroutines, written).Nanos })
	}
	return page.Compare("ns", columns,
		use("a read, 1 goroutine", 1, false), use("a read and a write, 1 goroutine", 1, true),
		use("a read, 64 goroutines", 64, false), use("a read and a write, 64 goroutines", 64, true),
		less("allocations", func(c column) float64 { return r.cost(c.info.Name, 1, true).Allocs }),
	)
}

// Crowd is the table of many virtual connections.
func (r *Run) Crowd() string {
	titles := map[virtual.Watch]string{
		virtual.Near:  "a timeout of twice the time between touches",
		virtual.Far:   "a timeout that is never over",
		virtual.Loose: "no group: the loop that touches",
	}
	type column = page.Column[*virtual.Crowd]
	perSecond := func(n int64, c *virtual.Crowd) string { return page.Count(int(float64(n) / c.Window.Seconds())) }
	ways := []*virtual.Crowd{r.crowd(virtual.Near), r.crowd(virtual.Far), r.crowd(virtual.Loose)}
	return page.Table(slices.DeleteFunc(ways, func(c *virtual.Crowd) bool { return c == nil }),
		column{Cell: func(c *virtual.Crowd) string { return titles[c.Watch] }},
		column{Head: "CPU, % of one", Cell: func(c *virtual.Crowd) string { return fmt.Sprintf("%.2f", share(c)) }},
		column{Head: "touches each second", Cell: func(c *virtual.Crowd) string { return perSecond(c.Touches, c) }},
		column{Head: "wake-ups each second", Cell: func(c *virtual.Crowd) string { return perSecond(c.Switches, c) }},
		column{Head: "asked about", Cell: func(c *virtual.Crowd) string { return page.Count(int(c.Asked)) }},
		column{Head: "bytes each", Cell: func(c *virtual.Crowd) string { return page.Figure(c.Bytes) }},
		column{Head: "full collection, ms", Cell: func(c *virtual.Crowd) string { return page.Figure(millis(c.GC)) }},
	)
}

// GroupShare returns the cost of the group, or nothing if it is not known.
func (r *Run) GroupShare() string {
	if math.IsNaN(r.groupShare()) {
		return ""
	}
	return fmt.Sprintf("%.2f", r.groupShare())
}

// Herd is the table of herds.
func (r *Run) Herd() string {
	column := func(head string, value func(herd) float64) page.Column[herd] {
		return page.Column[herd]{Head: head, Cell: func(h herd) string { return page.Figure(value(h)) }}
	}
	return page.Table(r.herds(),
		page.Column[herd]{Head: "herd; ms", Cell: herd.title},
		column("late, median", func(h herd) float64 { return millis(h.P50) }),
		column("late, p99", func(h herd) float64 { return millis(h.P99) }),
		column("late, most", func(h herd) float64 { return millis(h.Max) }),
		column("shift", func(h herd) float64 { return h.shift }),
		column("the same tick, most", func(h herd) float64 { return millis(h.Same) }),
		column("the herd took", func(h herd) float64 {
			if h.Herd.Herd == 0 {
				return math.NaN()
			}
			return millis(h.Passed)
		}),
		page.Column[herd]{Head: "stalls", Cell: func(h herd) string { return page.Count(h.Stalls) }},
		page.Column[herd]{Head: "early", Cell: func(h herd) string { return page.Count(h.Early) }},
		page.Column[herd]{Head: "left open", Cell: func(h herd) string { return page.Count(h.Open) }},
	)
}

func (h herd) title() string {
	if h.Herd.Herd == 0 {
		return "none"
	}
	text := page.Count(h.Herd.Herd)
	if h.Work > 0 {
		text += fmt.Sprintf(", %v to close each", h.Work)
	}
	if h.MaxPerTick > 0 {
		text += fmt.Sprintf(", MaxPerTick %s", page.Count(h.MaxPerTick))
	}
	return text
}
