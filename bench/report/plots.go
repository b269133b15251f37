package report

import (
	"fmt"
	"math"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/plot"
	"github.com/foliot/foliot/bench/record"
)

const perOperation = "nanoseconds per operation"

// plots draws all plots that have measurements.
func (v *view) plots() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, c := range []struct{ file, workload, value, title, unit string }{
		{"add-remove", measure.AddRemove, record.WallNanos, "Set a timer and remove it at once", perOperation},
		{"heartbeat", measure.Heartbeat, record.WallNanos, "Postpone a random timer", perOperation},
		{"replace", measure.Replace, record.WallNanos, "Remove a random timer and set another", perOperation},
		{"collection", measure.Standing, record.GCMs, "A full garbage collection", "milliseconds on one core"},
	} {
		if p := v.curves(c.workload, c.value, plot.Plot{Title: c.title, Unit: c.unit}); p.Known() > 1 {
			picture, err := p.Curves()
			if err != nil {
				return nil, err
			}
			files["benchmarks/"+c.file+".svg"] = picture
		}
	}
	for _, b := range v.bars() {
		if p := v.rows(b); p.Known() > 0 {
			picture, err := p.Bars(b.file != "bytes")
			if err != nil {
				return nil, err
			}
			files["benchmarks/"+b.file+".svg"] = picture
		}
	}
	return files, nil
}

// Plot returns the Markdown line of a picture, or nothing if the picture was
// not drawn.
func (v *view) Plot(file, what string) string {
	if _, ok := v.drawn["benchmarks/"+file]; !ok {
		return ""
	}
	return fmt.Sprintf("![%s](benchmarks/%s)\n", what, file)
}

// shown returns the implementations of a plot, without the harness alone.
func (v *view) shown(workload string) (list []peer.Info) {
	for _, p := range v.peers(workload) {
		if p.Name != peer.None {
			list = append(list, p)
		}
	}
	return list
}

// curves fills a plot with a curve for each implementation.
func (v *view) curves(workload, value string, p plot.Plot) *plot.Plot {
	p.Unit += "; lower is better; both axes logarithmic"
	p.X, p.Number = "pending timers", Number
	for _, x := range v.shown(workload) {
		s := plot.Series{Name: x.Title, Ours: x.Ours, Main: x.Name == peer.Foliot}
		for _, n := range v.sizes(workload) {
			s.X = append(s.X, float64(n))
			s.Values = append(s.Values, v.median(workload, x.Name, n, value))
		}
		p.Series = append(p.Series, s)
	}
	return &p
}

// bars is a plot with a row for each implementation of a workload.
type bars struct {
	file, title, about, unit string
	kinds                    []kind
}

// kind is one bar of a row.
type kind struct {
	name string
	at
	value string
	worst bool // the maximum of the trials
}

func (v *view) bars() []bars {
	standing, burst, n := v.sizes(measure.Standing), v.lone(measure.Million), v.parallelSize(measure.AddRemove)
	size := 0
	if len(standing) > 0 {
		size = min(standing[len(standing)-1], million)
	}
	million := Number(float64(burst.n)) + " timers due within one second: "
	list := []bars{
		{
			"bytes", "Memory of a pending timer",
			fmt.Sprintf("bytes of heap, %s timers, each with a callback or a value that identifies it", Number(float64(size))), "B",
			[]kind{{"", at{v, measure.Standing, size, 1}, record.Bytes, false}},
		},
		{
			"million-cpu", million + "CPU time", "milliseconds, all processors together; logarithmic", "ms",
			[]kind{{"to set them", burst, record.AddMs, false}, {"to fire them", burst, record.FireMs, false}},
		},
		{
			"million-late", million + "how late", "milliseconds after the deadline; logarithmic. A timer that fires early counts as less than nothing", "ms",
			[]kind{{"p50", burst, record.P50Ms, false}, {"p99", burst, record.P99Ms, false}, {"latest", burst, record.MaxMs, true}},
		},
		{"idle", "Ten seconds in which nothing is due", "milliseconds of CPU time of the whole process; logarithmic", "ms", nil},
		{
			"parallel", "Set a timer and remove it at once, from many goroutines",
			fmt.Sprintf("nanoseconds per operation of all together, %d cores, %s pending; logarithmic", v.Machine.Cores, Number(float64(n))), "ns", nil,
		},
	}
	for _, n := range v.sizes(measure.Idle) {
		list[3].kinds = append(list[3].kinds, kind{Number(float64(n)) + " pending timers", at{v, measure.Idle, n, 1}, record.CPUMs, false})
	}
	for _, g := range v.crews(measure.AddRemove) {
		list[4].kinds = append(list[4].kinds, kind{fmt.Sprintf("%d goroutines", g), at{v, measure.AddRemove, n, g}, record.WallNanos, false})
	}
	return list
}

// rows fills a plot with a row of bars for each implementation.
func (v *view) rows(b bars) *plot.Plot {
	p := &plot.Plot{Title: b.title, Unit: b.about}
	for _, k := range b.kinds {
		p.Kinds = append(p.Kinds, k.name)
	}
	if len(b.kinds) == 0 {
		return p
	}
	for _, x := range v.shown(b.kinds[0].workload) {
		s := plot.Series{Name: x.Title, Ours: x.Ours}
		for _, k := range b.kinds {
			stat := v.stat(k.job(x), k.value)
			if k.worst {
				stat.median = stat.max
			}
			text := "not measured"
			if !math.IsNaN(stat.median) {
				text = page.Figure(stat.median) + " " + b.unit
			}
			s.Values, s.Texts = append(s.Values, stat.median), append(s.Texts, text)
		}
		p.Series = append(p.Series, s)
	}
	return p
}
