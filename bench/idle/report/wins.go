package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/page"
)

// measure is a figure that is better if lower.
type measure struct {
	what, unit string
	noise      float64 // values with a smaller difference are equal
	value      func(column) float64
}

func (r *Run) measures() []measure {
	b := r.base()
	return []measure{
		{"connections that were closed wrongly, or never although their timeout was over", "", 0, func(c column) float64 {
			return float64(c.Counters.Of(verdict.Wrong) + c.Counters.Of(verdict.Never) + c.Counters.Of(verdict.Blind))
		}},
		{"late, p99", "ms", 1, func(c column) float64 { return millis(c.Counters.P99) }},
		{"CPU for a message", "µs", b.noise / 1000, func(c column) float64 { return median(c.PerMessage) / 1000 }},
		{"bytes for a connection, heap and stack", "", 4, func(c column) float64 {
			return (float64(c.Heap+c.Stack) - b.heap - b.stacks) / float64(c.Connections)
		}},
		{"a read and a write", "ns", 1, func(c column) float64 {
			nanos, _ := r.net(c.info.Name, 1, true)
			return nanos
		}},
	}
}

// Wins returns for each measure the best guards, their equals, and our own
// results. They come from the results.
func (r *Run) Wins() string {
	columns := slices.DeleteFunc(r.columns(), func(c column) bool { return c.info.Name == guard.None })
	var b strings.Builder
	for _, m := range r.measures() {
		b.WriteString(m.line(columns))
	}
	if b.Len() == 0 {
		return page.NotMeasured
	}
	return b.String()
}

func (m *measure) line(columns []column) string {
	least := math.Inf(1)
	for _, c := range columns {
		if x := m.value(c); x < least {
			least = x
		}
	}
	if math.IsInf(least, 1) {
		return ""
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
	line := fmt.Sprintf("- %s\n  - best: %s\n", strings.TrimSpace(m.what+" "+bracket(m.unit)), strings.Join(best, "; "))
	if len(ours) > 0 {
		line += "  - other ways of idle: " + strings.Join(ours, "; ") + "\n"
	}
	return line
}

func bracket(unit string) string {
	if unit == "" {
		return ""
	}
	return "(" + unit + ")"
}
