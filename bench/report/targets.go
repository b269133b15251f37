package report

import (
	"fmt"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

const (
	million = 1_000_000
	tenfold = 10_000_000
)

// none is a target of zero per operation. A value below a thousandth counts as
// zero: it was not caused by the operation.
func none(what string, value float64) page.Target {
	return page.Target{What: what, Wanted: "0", Measured: figure(value), Verdict: page.Judge(value < 0.001, value)}
}

// faster is a target of a speed relative to package time.
func (v *view) faster(what, workload string, n int, wanted float64) page.Target {
	ours := v.median(workload, peer.Foliot, n, record.WallNanos)
	theirs := v.median(workload, peer.Time, n, record.WallNanos)
	return page.Target{
		What: what, Wanted: fmt.Sprintf("≥ %g × package time", wanted),
		Measured: fmt.Sprintf("%.1f × (%s against %s ns)", theirs/ours, figure(ours), figure(theirs)),
		Verdict:  page.Judge(theirs >= wanted*ours, ours, theirs),
	}
}

// Targets is the table of targets.
func (v *view) Targets() string {
	t := page.Targets(v.targets())
	t.Words = true
	return t.String()
}

func (v *view) targets() []page.Target {
	ns := func(n int) float64 { return v.median(measure.AddRemove, peer.Foliot, n, record.WallNanos) }
	standing := func(n int, name string) float64 { return v.median(measure.Standing, peer.Foliot, n, name) }
	list := []page.Target{
		page.Most("add and remove at once, 10³ pending", ns(1_000), 75, "ns"),
		page.Most("the same, 10⁶", ns(million), 80, "ns"),
		page.Most("the same, 10⁷", ns(tenfold), 90, "ns"),
		v.faster("the same, 10⁶", measure.AddRemove, million, 3),
		none("allocations of it", v.median(measure.AddRemove, peer.Foliot, million, record.Allocs)),
		v.faster("extend a random timer, 10⁶", measure.Heartbeat, million, 2),
		v.faster("the same, 10⁷", measure.Heartbeat, tenfold, 2),
		v.faster("extend a hot timer", measure.Hot, million, 1),
		v.faster("remove a random timer and add another, 10⁶", measure.Replace, million, 2),
		page.Most("bytes per pending timer with an 8-byte value, 10⁶", standing(million, record.Bytes), 40, "bytes"),
		page.Most("full collection, 10⁷ pending", standing(tenfold, record.GCMs), 2, "ms"),
	}
	list = append(list, v.burstTargets()...)
	return append(list, v.otherTargets()...)
}

// burstTargets include the CPU time of setting the timers.
func (v *view) burstTargets() (list []page.Target) {
	for _, x := range []struct {
		name, how string
		cpu, late float64
	}{
		{peer.FoliotBatch, "batch", 250, 5},
		{peer.Foliot, "a goroutine each", 700, 50},
	} {
		k := v.burstOf(x.name)
		if k.N != million {
			k = record.Job{}
		}
		set, fire := v.stat(k, record.AddMs).median, v.stat(k, record.FireMs).median
		cpu := page.Most("10⁶ due within 1 s, "+x.how+", total CPU", set+fire, x.cpu, "ms")
		cpu.Measured += fmt.Sprintf(" (%s to set, %s to fire)", figure(set), figure(fire))
		list = append(list, cpu, page.Most("the same, late p99", v.stat(k, record.P99Ms).median, x.late, "ms"))
	}
	return list
}

func (v *view) otherTargets() []page.Target {
	idle := v.median(measure.Idle, peer.Foliot, 100_000, record.CPUMs)
	empty := v.median(measure.Idle, peer.None, 100_000, record.CPUMs)
	g64 := func(name string) float64 {
		return v.stat(key(measure.AddRemove, name, v.parallelSize(measure.AddRemove), 64), record.WallNanos).median
	}
	ours, theirs := g64(peer.Foliot), g64(peer.Time)
	early := v.stat(v.accuracyOf(peer.Foliot), record.Early).max + v.stat(v.accuracyOf(peer.FoliotBatch), record.Early).max +
		v.stat(v.burstOf(peer.Foliot), record.Early).max + v.stat(v.burstOf(peer.FoliotBatch), record.Early).max
	return []page.Target{
		{
			What: "idle for 10 s, 10⁵ pending", Wanted: "as an empty process (within 1 ms)",
			Measured: fmt.Sprintf("%s ms CPU (empty: %s)", figure(idle), figure(empty)), Verdict: page.Judge(idle <= empty+1, idle, empty),
		},
		{
			What: "64 goroutines, add and remove", Wanted: "≤ 0.7 × package time",
			Measured: fmt.Sprintf("%.2f × (%s against %s ns)", ours/theirs, figure(ours), figure(theirs)), Verdict: page.Judge(ours <= 0.7*theirs, ours, theirs),
		},
		none("timers that fired early, in all trials of `million` and `accuracy`", early),
	}
}
