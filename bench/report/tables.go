package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// column is a column of a table that has a row for each implementation.
type column = page.Column[peer.Info]

func title(head string) column {
	return column{Head: head, Cell: func(p peer.Info) string { return page.Title(p.Title, p.Ours) }}
}

// at has the columns of one number of timers and goroutines.
type at struct {
	*view
	workload      string
	n, goroutines int
}

// lone has the columns of a workload with one number of timers.
func (v *view) lone(workload string) at { return at{v, workload, first(v.sizes(workload)), 1} }

func (a at) job(p peer.Info) record.Job { return key(a.workload, p.Name, a.n, a.goroutines) }

// median is a column of the median.
func (a at) median(head, value string) column {
	return column{Head: head, Cell: func(p peer.Info) string { return a.cell(a.job(p), a.stat(a.job(p), value).median) }}
}

// worst is a column of the maximum. It is for faults.
func (a at) worst(head, value string) column {
	return column{Head: head, Cell: func(p peer.Info) string { return a.cell(a.job(p), a.stat(a.job(p), value).max) }}
}

// spread is a column of the median, and of the range if the trials differ.
func (a at) spread(head, value string) column {
	return column{Head: head, Cell: func(p peer.Info) string { return a.ranged(a.job(p), value) }}
}

func (a at) early() column {
	return column{Head: "early", Cell: func(p peer.Info) string { return a.share(a.job(p)) }}
}

// cell formats a value. For a missing value it returns "failed" if a trial
// failed.
func (v *view) cell(k record.Job, x float64) string {
	if math.IsNaN(x) && slices.ContainsFunc(v.trials[k], func(r record.Result) bool { return r.Failed != "" }) {
		return "failed"
	}
	return page.Figure(x)
}

func (v *view) ranged(k record.Job, value string) string {
	s := v.stat(k, value)
	if least, most := page.Figure(s.min), page.Figure(s.max); least != most {
		return fmt.Sprintf("%s (%s–%s)", page.Figure(s.median), least, most)
	}
	return v.cell(k, s.median)
}

// share returns the share of early timers in the worst trial.
func (v *view) share(k record.Job) string {
	early, fired := v.stat(k, record.Early).max, v.stat(k, record.Fired).median
	if early > 0 {
		return fmt.Sprintf("%.2g %%", 100*early/fired)
	}
	return v.cell(k, early)
}

// ratio returns the last cell of a column: package time compared with Foliot.
func (v *view) ratio(workload string, n, goroutines int) string {
	ratio := v.stat(key(workload, peer.Time, n, goroutines), record.WallNanos).median /
		v.stat(key(workload, peer.Foliot, n, goroutines), record.WallNanos).median
	if math.IsNaN(ratio) {
		return page.Missing
	}
	return fmt.Sprintf("*%.1f×*", ratio)
}

// operations is the first column of the tables with a ratio.
func operations(head string) column {
	c := title(head)
	c.Foot = "*package time ÷ Foliot*"
	return c
}

// Throughput is the table of a workload's time per operation, with the accuracy
// of each implementation.
func (v *view) Throughput(workload string) string {
	columns := []column{operations("ns per operation")}
	var large at // the largest number up to a million
	for _, n := range v.sizes(workload) {
		c := at{v, workload, n, 1}.spread(Number(float64(n)), record.WallNanos)
		c.Foot = v.ratio(workload, n, 1)
		columns = append(columns, c)
		if n <= million || large.view == nil {
			large = at{v, workload, n, 1}
		}
	}
	if large.view == nil {
		return page.NotMeasured
	}
	accuracy := v.lone(measure.Accuracy)
	return page.Table(v.peers(workload), append(columns,
		large.median("CPU, "+Number(float64(large.n)), record.CPUNanos), large.median("allocations", record.Allocs),
		v.representative(accuracy.median("late p99, ms", record.P99Ms)), v.representative(accuracy.early()),
	)...)
}

// representative shows the variant of an implementation whose accuracy was not
// measured, and nothing for the harness alone.
func (v *view) representative(c column) column {
	cell := c.Cell
	c.Cell = func(p peer.Info) string {
		if p.Name == peer.None {
			return ""
		}
		if len(v.trials[v.only(measure.Accuracy, p.Name)]) == 0 {
			p = peer.Info{Name: p.Variant}
		}
		return cell(p)
	}
	return c
}

// Parallel is the table of one workload on several goroutines.
func (v *view) Parallel(workload string) string {
	columns, n := []column{operations("ns per operation of all together")}, v.parallelSize(workload)
	for _, g := range v.crews(workload) {
		c := at{v, workload, n, g}.spread(fmt.Sprintf("%d goroutines", g), record.WallNanos)
		c.Foot = v.ratio(workload, n, g)
		columns = append(columns, c, at{v, workload, n, g}.median("CPU", record.CPUNanos))
	}
	if len(columns) == 1 {
		return page.NotMeasured
	}
	return page.Table(v.peers(workload), columns...)
}

// ParallelSize is the number of timers in the measurements with several
// goroutines.
func (v *view) ParallelSize() string { return Number(float64(v.parallelSize(measure.AddRemove))) }

// Standing is the table of bytes and garbage collections.
func (v *view) Standing() string {
	columns, collections := []column{title("bytes per timer; full collection, ms")}, []column(nil)
	for _, n := range v.sizes(measure.Standing) {
		a := at{v, measure.Standing, n, 1}
		columns = append(columns, a.median("bytes, "+Number(float64(n)), record.Bytes))
		collections = append(collections, a.spread("GC, "+Number(float64(n)), record.GCMs))
	}
	return page.Table(v.peers(measure.Standing), append(columns, collections...)...)
}

// Million is the table of the burst.
func (v *view) Million() string {
	a := v.lone(measure.Million)
	return page.Table(v.peers(a.workload), title(""),
		column{Head: "callbacks run on", Cell: func(p peer.Info) string { return p.Callbacks }, Text: true},
		a.spread("CPU to set, ms", record.AddMs), a.spread("CPU to fire, ms", record.FireMs),
		a.spread("late p50, ms", record.P50Ms), a.spread("p99", record.P99Ms), a.worst("max", record.MaxMs),
		a.early(), a.worst("by up to, ms", record.EarliestMs), a.median("fired", record.Fired))
}

// Accuracy is the table of the accuracy checks.
func (v *view) Accuracy() string {
	a := v.lone(measure.Accuracy)
	return page.Table(v.peers(a.workload), title(""),
		column{Head: "resolution", Cell: func(p peer.Info) string { return p.Resolution }},
		a.median("late p50, ms", record.P50Ms), a.median("p99", record.P99Ms), a.worst("max", record.MaxMs),
		a.early(), a.worst("by up to, ms", record.EarliestMs), a.worst("never fired", record.Lost),
		a.worst("fired twice", record.Doubled), a.worst("fired though removed", record.Undead))
}

// Idle is the table of costs while no timer is due.
func (v *view) Idle() string {
	columns := []column{title("")}
	for _, n := range v.sizes(measure.Idle) {
		a := at{v, measure.Idle, n, 1}
		columns = append(columns, a.spread(fmt.Sprintf("CPU ms, %s pending", Number(float64(n))), record.CPUMs), a.median("context switches", record.Switches))
	}
	return page.Table(v.peers(measure.Idle), columns...)
}

// Floors is the table of lower bounds.
func (v *view) Floors() string {
	k := key(measure.Floors, peer.None, 0, 1)
	names := measure.FloorNames()
	if len(v.trials[k]) == 0 {
		names = nil
	}
	return page.Table(names,
		page.Column[string]{Cell: func(name string) string { return name }},
		page.Column[string]{Head: "ns", Cell: func(name string) string { return v.ranged(k, name) }})
}

// Implementations is the table of the measured implementations.
func (*view) Implementations() string {
	return page.Table(peer.All, title(""), column{Head: "description", Cell: func(p peer.Info) string { return p.What }, Text: true})
}

// Gaps lists the skipped measurements.
func (v *view) Gaps() string {
	workloads := map[string][]string{}
	var order []string
	for _, s := range v.Skipped {
		info, _ := peer.Find(s.Peer)
		gap := fmt.Sprintf("%s, %s timers: %s", info.Title, Number(float64(s.N)), s.Why)
		if len(workloads[gap]) == 0 {
			order = append(order, gap)
		}
		workloads[gap] = append(workloads[gap], s.Workload)
	}
	text := ""
	for _, gap := range order {
		text += fmt.Sprintf("- Not tried (%s): %s.\n", strings.Join(workloads[gap], ", "), gap)
	}
	return text
}
