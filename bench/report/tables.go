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

// title returns the title of an implementation, in bold if it is Foliot's.
func title(p peer.Info) string { return page.Title(p.Title, p.Ours) }

// Throughput is the table of a workload's time per operation, with the accuracy
// of each implementation.
func (v *view) Throughput(workload string) string {
	ns := v.sizes(workload)
	if len(ns) == 0 {
		return page.NotMeasured
	}
	t := &page.Table{Head: []string{"ns per operation"}}
	for _, n := range ns {
		t.Head = append(t.Head, Number(n))
	}
	largest := ns[len(ns)-1]
	if slices.Contains(ns, 1_000_000) {
		largest = 1_000_000
	}
	t.Head = append(t.Head, "CPU, "+Number(largest), "allocations", "late p99, ms", "early")
	for _, p := range v.peers(workload) {
		row := []string{title(p)}
		for _, n := range ns {
			row = append(row, v.cell(key(workload, p.Name, n, 1), record.WallNanos))
		}
		k := key(workload, p.Name, largest, 1)
		row = append(row, v.plain(k, record.CPUNanos), v.plain(k, record.Allocs))
		t.Add(append(row, v.accuracyCells(p)...)...)
	}
	t.Add(v.ratios(workload, ns)...)
	return t.String()
}

// accuracyCells returns how late and how often early the implementation was. If
// it was not measured, they are those of its variant.
func (v *view) accuracyCells(p peer.Info) []string {
	k := v.accuracyOf(p.Name)
	if len(v.trials[k]) == 0 {
		k = v.accuracyOf(p.Variant)
	}
	if p.Name == peer.None {
		return []string{"", ""}
	}
	return []string{v.plain(k, record.P99Ms), v.share(k)}
}

// share returns the share of early timers in an accuracy check, from the worst
// trial.
func (v *view) share(k record.Job) string {
	early := v.stat(k, record.Early).max
	fired := v.stat(k, record.Fired).median
	switch {
	case math.IsNaN(early):
		return v.hole(k)
	case early == 0:
		return "0"
	}
	return fmt.Sprintf("%.2g %%", 100*early/fired)
}

// ratios returns the row that compares package time with Foliot.
func (v *view) ratios(workload string, ns []int) []string {
	row := []string{"*package time ÷ Foliot*"}
	for _, n := range ns {
		row = append(row, times(v.median(workload, peer.Time, n, record.WallNanos)/v.median(workload, peer.Foliot, n, record.WallNanos)))
	}
	return append(row, "", "", "", "")
}

func times(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return page.Missing
	}
	return fmt.Sprintf("*%.1f×*", ratio)
}

// Standing is the table of bytes and garbage collections.
func (v *view) Standing() string {
	ns := v.sizes(measure.Standing)
	if len(ns) == 0 {
		return page.NotMeasured
	}
	t := &page.Table{Head: []string{"bytes per timer; full collection, ms"}}
	for _, n := range ns {
		t.Head = append(t.Head, "bytes, "+Number(n))
	}
	for _, n := range ns {
		t.Head = append(t.Head, "GC, "+Number(n))
	}
	for _, p := range v.peers(measure.Standing) {
		row := []string{title(p)}
		for _, n := range ns {
			row = append(row, v.plain(key(measure.Standing, p.Name, n, 1), record.Bytes))
		}
		for _, n := range ns {
			row = append(row, v.cell(key(measure.Standing, p.Name, n, 1), record.GCMs))
		}
		t.Add(row...)
	}
	return t.String()
}

// Million is the table of the burst.
func (v *view) Million() string {
	t := &page.Table{Words: true, Head: []string{
		"", "callbacks run on", "CPU to set, ms", "CPU to fire, ms", "late p50, ms", "p99", "max", "early", "by up to, ms", "fired",
	}}
	for _, p := range v.peers(measure.Million) {
		k := v.burstOf(p.Name)
		t.Add(title(p), p.Callbacks, v.cell(k, record.AddMs), v.cell(k, record.FireMs), v.cell(k, record.P50Ms), v.cell(k, record.P99Ms),
			v.worst(k, record.MaxMs), v.share(k), v.worst(k, record.EarliestMs), v.plain(k, record.Fired))
	}
	return orNotMeasured(t)
}

func orNotMeasured(t *page.Table) string {
	if len(t.Rows) == 0 {
		return page.NotMeasured
	}
	return t.String()
}

// Accuracy is the table of the accuracy checks.
func (v *view) Accuracy() string {
	t := &page.Table{Head: []string{
		"", "resolution", "late p50, ms", "p99", "max", "early", "by up to, ms", "never fired", "fired twice", "fired though removed",
	}}
	for _, p := range v.peers(measure.Accuracy) {
		k := v.accuracyOf(p.Name)
		t.Add(title(p), p.Resolution, v.plain(k, record.P50Ms), v.plain(k, record.P99Ms), v.worst(k, record.MaxMs), v.share(k),
			v.worst(k, record.EarliestMs), v.worst(k, record.Lost), v.worst(k, record.Doubled), v.worst(k, record.Undead))
	}
	return orNotMeasured(t)
}

// Idle is the table of costs while no timer is due.
func (v *view) Idle() string {
	ns := v.sizes(measure.Idle)
	t := &page.Table{Head: []string{""}}
	for _, n := range ns {
		t.Head = append(t.Head, fmt.Sprintf("CPU ms, %s pending", Number(n)), "context switches")
	}
	for _, p := range v.peers(measure.Idle) {
		row := []string{title(p)}
		for _, n := range ns {
			k := key(measure.Idle, p.Name, n, 1)
			row = append(row, v.cell(k, record.CPUMs), v.plain(k, record.Switches))
		}
		t.Add(row...)
	}
	return orNotMeasured(t)
}

// Parallel is the table of one workload on several goroutines.
func (v *view) Parallel(workload string) string {
	var crews []int
	for k := range v.trials {
		if k.Workload == workload && k.Goroutines > 1 && !slices.Contains(crews, k.Goroutines) {
			crews = append(crews, k.Goroutines)
		}
	}
	if len(crews) == 0 {
		return page.NotMeasured
	}
	slices.Sort(crews)
	n := v.parallelSize(workload)
	t := &page.Table{Head: []string{"ns per operation of all together"}}
	for _, g := range crews {
		t.Head = append(t.Head, fmt.Sprintf("%d goroutines", g), "CPU")
	}
	ratios := []string{"*package time ÷ Foliot*"}
	for _, g := range crews {
		ratios = append(ratios, times(v.stat(key(workload, peer.Time, n, g), record.WallNanos).median/
			v.stat(key(workload, peer.Foliot, n, g), record.WallNanos).median), "")
	}
	for _, p := range v.peers(workload) {
		row := []string{title(p)}
		for _, g := range crews {
			k := key(workload, p.Name, n, g)
			row = append(row, v.cell(k, record.WallNanos), v.plain(k, record.CPUNanos))
		}
		t.Add(row...)
	}
	t.Add(ratios...)
	return t.String()
}

func (v *view) parallelSize(workload string) int {
	for k := range v.trials {
		if k.Workload == workload && k.Goroutines > 1 {
			return k.N
		}
	}
	return 0
}

// Floors is the table of lower bounds.
func (v *view) Floors() string {
	t := &page.Table{Head: []string{"", "ns"}}
	k := key(measure.Floors, peer.None, 0, 1)
	for _, name := range measure.FloorNames() {
		t.Add(name, v.cell(k, name))
	}
	if len(v.trials[k]) == 0 {
		return page.NotMeasured
	}
	return t.String()
}

// Implementations is the table of the measured implementations.
func (v *view) Implementations() string {
	t := &page.Table{Words: true, Head: []string{"", "description"}}
	for _, p := range peer.All {
		t.Add(title(p), p.What)
	}
	return t.String()
}

// Gaps lists the skipped and the failed measurements.
func (v *view) Gaps() string {
	var b strings.Builder
	why := map[string][]string{}
	var order []string
	for _, s := range v.Skipped {
		info, _ := peer.Find(s.Peer)
		line := fmt.Sprintf("%s, %s timers: %s", info.Title, Number(s.N), s.Why)
		if len(why[line]) == 0 {
			order = append(order, line)
		}
		why[line] = append(why[line], s.Workload)
	}
	for _, line := range order {
		fmt.Fprintf(&b, "- Not tried (%s): %s.\n", strings.Join(why[line], ", "), line)
	}
	for _, r := range v.Results {
		if r.Failed != "" {
			fmt.Fprintf(&b, "- Failed: %s, %s, %s timers, trial %d: %s\n", WorkloadTitle(r.Job), r.Peer, Number(r.N), r.Trial, r.Failed)
		}
	}
	if b.Len() == 0 {
		return "Nothing was skipped and nothing failed.\n"
	}
	return b.String()
}
