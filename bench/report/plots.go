package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/bench/chart"
	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// plot is a picture and the name of its file.
type plot struct {
	file string
	svg  []byte
}

// plots draws all plots that have measurements.
func (v *view) plots() []plot {
	return slices.DeleteFunc([]plot{
		{"add-remove.svg", v.curves(measure.AddRemove, record.WallNanos, "Set a timer and remove it at once", perOperation)},
		{"heartbeat.svg", v.curves(measure.Heartbeat, record.WallNanos, "Postpone a random timer", perOperation)},
		{"replace.svg", v.curves(measure.Replace, record.WallNanos, "Remove a random timer and set another", perOperation)},
		{"collection.svg", v.curves(measure.Standing, record.GCMs, "A full garbage collection", "milliseconds on one core; lower is better; both axes logarithmic")},
		{"bytes.svg", v.bytesPlot()},
		{"million-cpu.svg", v.burstCPU()},
		{"million-late.svg", v.burstLate()},
		{"idle.svg", v.idlePlot()},
		{"parallel.svg", v.parallelPlot()},
	}, func(p plot) bool { return p.svg == nil })
}

const perOperation = "nanoseconds per operation; lower is better; both axes logarithmic"

// shown returns the implementations of a plot, without the harness alone.
func (v *view) shown(workload string) []peer.Info {
	return slices.DeleteFunc(v.peers(workload), func(p peer.Info) bool { return p.Name == peer.None })
}

func (v *view) curves(workload, name, title, subtitle string) []byte {
	l := chart.Lines{Title: title, Subtitle: subtitle, X: "pending timers"}
	points := 0
	for _, p := range v.shown(workload) {
		c := chart.Curve{Name: p.Title, Bold: p.Name == peer.Foliot, Kin: p.Ours}
		for _, n := range v.sizes(workload) {
			if y := v.median(workload, p.Name, n, name); y > 0 {
				c.Points = append(c.Points, chart.Point{X: float64(n), Y: y})
			}
		}
		points = max(points, len(c.Points))
		l.Curves = append(l.Curves, c)
	}
	if points < 2 {
		return nil
	}
	return l.SVG()
}

// bars draws a row for each implementation of a workload. value returns the
// value of one kind.
func (v *view) bars(b chart.Bars, workload string, unit string, value func(p peer.Info) []float64) []byte {
	known := false
	for _, p := range v.shown(workload) {
		row := chart.Row{Name: p.Title, Bold: p.Ours, Values: value(p)}
		for _, x := range row.Values {
			text := "not measured"
			if !math.IsNaN(x) {
				text, known = figure(x)+" "+unit, true
			}
			row.Texts = append(row.Texts, text)
		}
		b.Rows = append(b.Rows, row)
	}
	if !known {
		return nil
	}
	return b.SVG()
}

func (v *view) bytesPlot() []byte {
	ns := v.sizes(measure.Standing)
	n := 0
	if len(ns) > 0 {
		n = min(ns[len(ns)-1], million)
	}
	return v.bars(chart.Bars{
		Title:    "Memory of a pending timer",
		Subtitle: fmt.Sprintf("bytes of heap, %s timers, each with a callback or a value that identifies it", Number(n)),
		Kinds:    []string{""},
	}, measure.Standing, "B", func(p peer.Info) []float64 {
		return []float64{v.median(measure.Standing, p.Name, n, record.Bytes)}
	})
}

func (v *view) burstCPU() []byte {
	return v.bars(chart.Bars{
		Title:    fmt.Sprintf("%s timers due within one second: CPU time", Number(v.burstOf("").N)),
		Subtitle: "milliseconds, all processors together; logarithmic",
		Kinds:    []string{"to set them", "to fire them"},
		Log:      true,
	}, measure.Million, "ms", func(p peer.Info) []float64 {
		k := v.burstOf(p.Name)
		return []float64{v.stat(k, record.AddMs).median, v.stat(k, record.FireMs).median}
	})
}

func (v *view) burstLate() []byte {
	return v.bars(chart.Bars{
		Title:    fmt.Sprintf("%s timers due within one second: how late", Number(v.burstOf("").N)),
		Subtitle: "milliseconds after the deadline; logarithmic. A timer that fires early counts as less than nothing",
		Kinds:    []string{"p50", "p99", "latest"},
		Log:      true,
	}, measure.Million, "ms", func(p peer.Info) []float64 {
		k := v.burstOf(p.Name)
		return []float64{v.stat(k, record.P50Ms).median, v.stat(k, record.P99Ms).median, v.stat(k, record.MaxMs).max}
	})
}

func (v *view) idlePlot() []byte {
	ns := v.sizes(measure.Idle)
	b := chart.Bars{Title: "Ten seconds in which nothing is due", Subtitle: "milliseconds of CPU time of the whole process; logarithmic", Log: true}
	for _, n := range ns {
		b.Kinds = append(b.Kinds, Number(n)+" pending timers")
	}
	return v.bars(b, measure.Idle, "ms", func(p peer.Info) (values []float64) {
		for _, n := range ns {
			values = append(values, v.median(measure.Idle, p.Name, n, record.CPUMs))
		}
		return values
	})
}

func (v *view) parallelPlot() []byte {
	n := v.parallelSize(measure.AddRemove)
	return v.bars(chart.Bars{
		Title:    "Set a timer and remove it at once, from many goroutines",
		Subtitle: fmt.Sprintf("nanoseconds per operation of all together, %d cores, %s pending; logarithmic", v.Machine.Cores, Number(n)),
		Kinds:    []string{"2 goroutines", "64 goroutines"},
		Log:      true,
	}, measure.AddRemove, "ns", func(p peer.Info) []float64 {
		at := func(g int) float64 { return v.stat(key(measure.AddRemove, p.Name, n, g), record.WallNanos).median }
		return []float64{at(2), at(64)}
	})
}
