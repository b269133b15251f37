package report

import (
	"math"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/redis/contender"
)

// row is a contender in the table.
type row struct{ info *contender.Info }

// Title implements page.Contestant.
func (x row) Title() string { return x.info.Title }

// Ours implements page.Contestant.
func (x row) Ours() bool { return x.info.Ours }

type column = page.Column[row]

// body is the size of the bodies in the table.
const body = 100

// rows returns the contenders that deliver and were measured.
func (r *Run) rows() (list []row) {
	for i := range contender.All {
		info := &contender.All[i]
		if info.Calls && len(r.find(info.Name, Create))+len(r.find(info.Name, Late)) > 0 {
			list = append(list, row{info})
		}
	}
	return list
}

// created returns the creates of a contender in calls of one task, or of many.
func (r *Run) created(name string, many bool) *Result {
	for _, x := range r.find(name, Create) {
		if x.Size == body && (x.Each > 1) == many {
			return x
		}
	}
	return nil
}

// value returns a value of a result, or NaN if there is none.
func value(x *Result, of func(*Result) float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return of(x)
}

func (r *Result) rate() float64 { return float64(r.N) / r.Seconds }

func (r *Run) columns() []column {
	of := func(head, kind string, better page.Better, get func(*Result) float64) column {
		return column{Head: head, Better: better, Value: func(x row) float64 {
			for _, found := range r.find(x.info.Name, kind) {
				return get(found)
			}
			return math.NaN()
		}}
	}
	return []column{
		{Head: "creates a second, one by one", Better: page.More, Value: func(x row) float64 { return value(r.created(x.info.Name, false), (*Result).rate) }},
		{Head: "in batches", Value: func(x row) float64 { return value(r.created(x.info.Name, true), (*Result).rate) }},
		of("bytes in Redis", Create, page.Less, func(x *Result) float64 { return x.Bytes - float64(x.Size) }),
		of("late p50, ms", Late, page.None, func(x *Result) float64 { return x.Calls.P50 }),
		of("late p99, ms", Late, page.Less, func(x *Result) float64 { return x.Calls.P99 }),
		of("early", Late, page.Less, func(x *Result) float64 { return float64(x.Calls.Early) }),
		{Head: "lost or twice", Better: page.Less, Value: func(x row) float64 { return r.wrong(x.info.Name) }},
		of("Redis, µs", Late, page.Less, func(x *Result) float64 { return x.Life }),
		of("its server, µs", Late, page.Less, func(x *Result) float64 { return x.LifeNode }),
		of("backlog, calls a second", Drain, page.More, func(x *Result) float64 { return float64(x.Calls.Came-1) / x.Calls.Seconds }),
		of("idle: Redis, ms a second", Idle, page.Less, func(x *Result) float64 { return x.IdleRedis }),
	}
}

// wrong returns how many tasks were not called once, one by one or in a backlog.
func (r *Run) wrong(name string) float64 {
	list := append(r.find(name, Late), r.find(name, Drain)...)
	if len(list) == 0 {
		return math.NaN()
	}
	sum := 0
	for _, x := range list {
		sum += x.Calls.Lost + x.Calls.Doubled
	}
	return float64(sum)
}

// Summary is the table of the page.
func (r *Run) Summary() string { return page.Table(r.rows(), r.columns()...) }

// Losses lists the columns in which another contender is better.
func (r *Run) Losses() []string { return page.Losses(r.rows(), r.columns()...) }

// Missed says which targets were missed.
func (r *Run) Missed() string {
	batched, p99, wrong := value(r.created("foliot", true), (*Result).rate), math.NaN(), math.NaN()
	for _, x := range r.find("foliot", Late) {
		p99, wrong = x.Calls.P99, float64(x.Calls.Early+x.Calls.Lost+x.Calls.Doubled)
	}
	return page.Missed([]page.Target{
		{What: "creates a second, in batches over HTTP", Wanted: "≥ " + page.Count(20_000), Measured: page.Figure(batched), Reached: batched >= 20_000},
		page.Most("lateness, p99, at 1000 deliveries a second", p99, 20, "ms"),
		page.Most("of these early, lost or twice", wrong, 0, ""),
	})
}
