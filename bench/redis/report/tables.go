package report

import (
	"math"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/redis/contender"
)

type column = page.Column[*Result]

// title returns the contender's title, in bold if it is Foliot's.
func (r *Result) title() string {
	info, err := contender.Find(r.Contender)
	if err != nil {
		return r.Contender
	}
	return page.Title(info.Title, info.Ours)
}

func (r *Result) ours() bool {
	info, err := contender.Find(r.Contender)
	return err == nil && info.Ours
}

func (r *Result) rate() float64 { return float64(r.N) / r.Seconds }

// titles is the first column.
var titles = column{Cell: (*Result).title}

// figures is a column of numbers. Those below a tenth are rounded.
func figures(head string, value func(*Result) float64) column {
	return column{Head: head, Cell: func(r *Result) string {
		x := value(r)
		if math.Abs(x) < 0.1 {
			x = math.Round(10*x) / 10
		}
		return page.Figure(x)
	}}
}

// counts is a column of whole numbers.
func counts(head string, value func(*Result) int) column {
	return column{Head: head, Cell: func(r *Result) string { return page.Count(value(r)) }}
}

var (
	sizes    = counts("body, bytes", func(r *Result) int { return r.Size })
	lost     = counts("lost", func(r *Result) int { return r.Calls.Lost })
	doubled  = counts("twice", func(r *Result) int { return r.Calls.Doubled })
	life     = figures("Redis, µs", func(r *Result) float64 { return r.Life })
	lifeNode = figures("its server, µs", func(r *Result) float64 { return r.LifeNode })
)

// Creates is the table of create rates.
func (r *Run) Creates() string {
	return page.Table(r.of(Create), titles,
		counts("tasks in a call", func(r *Result) int { return r.Each }),
		counts("callers", func(r *Result) int { return r.Callers }),
		sizes,
		counts("creates a second", func(r *Result) int { return int(r.rate()) }),
		figures("Redis, µs", func(r *Result) float64 { return r.Redis }),
		figures("its server, µs", func(r *Result) float64 {
			if r.Node == 0 {
				return math.NaN() // it has none
			}
			return r.Node
		}),
		figures("the creating process, µs", func(r *Result) float64 { return r.Own }))
}

// Sizes is the table of bytes per task.
func (r *Run) Sizes() string {
	type size struct {
		contender string
		bytes     int
	}
	var list []*Result
	seen := map[size]bool{}
	for _, x := range r.of(Create) {
		if key := (size{x.Contender, x.Size}); !seen[key] {
			seen[key] = true
			list = append(list, x)
		}
	}
	for _, x := range r.of(Late) {
		if x.ours() {
			list = append(list, x)
		}
	}
	return page.Table(list,
		column{Cell: func(r *Result) string {
			if r.Kind == Late {
				return r.title() + ", delivered and kept"
			}
			return r.title()
		}},
		sizes,
		figures("memory, bytes", func(r *Result) float64 { return r.Bytes }),
		figures("less the body", func(r *Result) float64 {
			if r.Kind == Late {
				return math.NaN() // the body is gone
			}
			return r.Bytes - float64(r.Size)
		}),
		figures("appended to the file, bytes", func(r *Result) float64 { return r.File }))
}

// Lateness is the table of lateness.
func (r *Run) Lateness() string {
	return page.Table(r.of(Late), titles,
		figures("late, p50, ms", func(r *Result) float64 { return r.Calls.P50 }),
		figures("p99, ms", func(r *Result) float64 { return r.Calls.P99 }),
		figures("most, ms", func(r *Result) float64 { return r.Calls.Most }),
		counts("early", func(r *Result) int { return r.Calls.Early }),
		figures("by at most, ms", func(r *Result) float64 { return max(-r.Calls.Least, 0) }),
		lost, doubled, life, lifeNode,
		figures("a sleep, p99, ms", func(r *Result) float64 { return r.Sleep }))
}

// Drains is the table of call rates for tasks that are due at the same moment.
func (r *Run) Drains() string {
	return page.Table(r.of(Drain), titles,
		counts("calls a second", func(r *Result) int { return int(float64(r.Calls.Came-1) / r.Calls.Seconds) }),
		figures("the last one after, s", func(r *Result) float64 { return r.Calls.Last }),
		lost, doubled, life, lifeNode)
}

// Idles is the table of processor time without tasks.
func (r *Run) Idles() string {
	return page.Table(r.of(Idle), titles,
		figures("Redis, ms a second", func(r *Result) float64 { return r.IdleRedis }),
		figures("its server, ms a second", func(r *Result) float64 { return r.IdleNode }))
}

// Targets is the table of targets.
func (r *Run) Targets() string {
	batched, p99, wrong, theirs := math.NaN(), math.NaN(), math.NaN(), math.NaN()
	for _, x := range r.of(Create) {
		if x.Contender == "foliot" && x.Each > 1 && (math.IsNaN(batched) || x.Size < 1000) {
			batched = x.rate()
		}
	}
	for _, x := range r.of(Late) {
		switch x.Contender {
		case "foliot":
			p99, wrong = x.Calls.P99, float64(x.Calls.Early+x.Calls.Lost+x.Calls.Doubled)
		case "asynq":
			theirs = x.Calls.P99
		}
	}
	compared := page.Target{What: "p99 of asynq with default settings, in the same run", Measured: page.Figure(theirs) + " ms"}
	if !math.IsNaN(theirs) {
		compared.Verdict = page.None
	}
	return page.Targets([]page.Target{
		{
			What: "creates a second, in batches over HTTP", Wanted: "≥ " + page.Count(20_000),
			Measured: page.Figure(batched), Verdict: page.Judge(batched >= 20_000, batched),
		},
		page.Most("lateness, p99, at 1000 deliveries a second", p99, 20, "ms"),
		page.Most("of these early, lost or twice", wrong, 0, ""),
		compared,
	})
}
