package report

import (
	"math"

	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/page"
)

type column = page.Column[row]

// columns are those of the table. The costs of a run without timeouts are
// subtracted from bytes and from a use.
func (r *Run) columns() []column {
	b := r.base()
	late := func(x row, value float64) float64 {
		if x.Counters.Of(verdict.OnTime)+x.Counters.Of(verdict.Late) == 0 {
			return math.NaN()
		}
		return value
	}
	count := func(head string, verdicts ...verdict.Verdict) column {
		return column{Head: head, Better: page.Less, Value: func(x row) (n float64) {
			for _, v := range verdicts {
				n += float64(x.Counters.Of(v))
			}
			return n
		}}
	}
	return []column{
		count("closed wrongly", verdict.Wrong),
		count("never closed", verdict.Never, verdict.Blind),
		{Head: "late p50, ms", Value: func(x row) float64 { return late(x, millis(x.Counters.P50)) }},
		{Head: "late p99, ms", Value: func(x row) float64 { return late(x, millis(x.Counters.P99)) }, Better: page.Less, Noise: 1},
		{Head: "CPU for a message, µs", Value: func(x row) float64 { return median(x.PerMessage) / 1000 }, Better: page.Less, Noise: b.noise / 1000},
		{Head: "bytes for a connection", Better: page.Less, Noise: 4, Value: func(x row) float64 {
			return (float64(x.Heap+x.Stack) - b.heap - b.stacks) / float64(x.Connections)
		}},
		{Head: "a read and a write, ns", Value: func(x row) float64 { return r.net(x.info.Name, 1, true) }, Better: page.Less, Noise: 1},
	}
}

// Summary is the table of the page.
func (r *Run) Summary() string { return page.Table(r.rows(), r.columns()...) }

// Losses lists the columns in which another way is better.
func (r *Run) Losses() []string { return page.Losses(r.rows(), r.columns()...) }
