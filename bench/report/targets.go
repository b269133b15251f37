package report

import (
	"fmt"
	"math"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

const (
	million = 1_000_000
	tenfold = 10_000_000
)

// target is what the engine was to reach, and what came out.
type target struct {
	what     string
	wanted   string
	measured string
	reached  verdict
}

type verdict int

const (
	unknown verdict = iota
	reached
	missed
)

func (v verdict) String() string { return [...]string{"not measured", "reached", "**not reached**"}[v] }

// judge is unknown where a value is missing.
func judge(ok bool, values ...float64) verdict {
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return unknown
		}
	}
	if ok {
		return reached
	}
	return missed
}

// most is a target of at most so many of a unit.
func most(what string, value, limit float64, unit string) target {
	return target{what, fmt.Sprintf("≤ %g %s", limit, unit), figure(value) + " " + unit, judge(value <= limit, value)}
}

// none is a target of nothing at all. What is below a thousandth per operation was not done by the operation.
func none(what string, value float64) target {
	return target{what, "0", figure(value), judge(value < 0.001, value)}
}

// faster is a target of at least so many times as fast as package time.
func (v *view) faster(what, workload string, n int, wanted float64) target {
	ours := v.median(workload, peer.Foliot, n, record.WallNanos)
	theirs := v.median(workload, peer.Time, n, record.WallNanos)
	return target{
		what, fmt.Sprintf("≥ %g × package time", wanted),
		fmt.Sprintf("%.1f × (%s against %s ns)", theirs/ours, figure(ours), figure(theirs)),
		judge(theirs >= wanted*ours, ours, theirs),
	}
}

// Targets is the table of what was to be reached.
func (v *view) Targets() string {
	t := &table{words: true, head: []string{"target", "wanted", "measured", ""}}
	for _, x := range v.targets() {
		measured := x.measured
		if x.reached == unknown {
			measured = "–"
		}
		t.add(x.what, x.wanted, measured, x.reached.String())
	}
	return t.String()
}

func (v *view) targets() []target {
	ns := func(n int) float64 { return v.median(measure.AddRemove, peer.Foliot, n, record.WallNanos) }
	standing := func(n int, name string) float64 { return v.median(measure.Standing, peer.Foliot, n, name) }
	list := []target{
		most("add and remove at once, 10³ standing", ns(1_000), 75, "ns"),
		most("the same, 10⁶", ns(million), 80, "ns"),
		most("the same, 10⁷", ns(tenfold), 90, "ns"),
		v.faster("the same, 10⁶", measure.AddRemove, million, 3),
		none("allocations of it", v.median(measure.AddRemove, peer.Foliot, million, record.Allocs)),
		v.faster("extend a random timer, 10⁶", measure.Heartbeat, million, 2),
		v.faster("the same, 10⁷", measure.Heartbeat, tenfold, 2),
		v.faster("extend a hot timer", measure.Hot, million, 1),
		v.faster("remove a random timer and add another, 10⁶", measure.Replace, million, 2),
		most("bytes per standing timer with an 8-byte value, 10⁶", standing(million, record.Bytes), 40, "bytes"),
		most("full collection, 10⁷ standing", standing(tenfold, record.GCMs), 2, "ms"),
	}
	list = append(list, v.burstTargets()...)
	return append(list, v.otherTargets()...)
}

// burstTargets count the CPU time of setting the timers, too.
func (v *view) burstTargets() (list []target) {
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
		cpu := most("10⁶ due within 1 s, "+x.how+", CPU all told", set+fire, x.cpu, "ms")
		cpu.measured += fmt.Sprintf(" (%s to set, %s to fire)", figure(set), figure(fire))
		list = append(list, cpu, most("the same, late p99", v.stat(k, record.P99Ms).median, x.late, "ms"))
	}
	return list
}

func (v *view) otherTargets() []target {
	idle := v.median(measure.Idle, peer.Foliot, 100_000, record.CPUMs)
	empty := v.median(measure.Idle, peer.None, 100_000, record.CPUMs)
	g64 := func(name string) float64 {
		return v.stat(key(measure.AddRemove, name, v.parallelSize(measure.AddRemove), 64), record.WallNanos).median
	}
	ours, theirs := g64(peer.Foliot), g64(peer.Time)
	early := v.stat(v.accuracyOf(peer.Foliot), record.Early).max + v.stat(v.accuracyOf(peer.FoliotBatch), record.Early).max +
		v.stat(v.burstOf(peer.Foliot), record.Early).max + v.stat(v.burstOf(peer.FoliotBatch), record.Early).max
	return []target{
		{
			"idle for 10 s, 10⁵ standing", "as an empty process (within 1 ms)",
			fmt.Sprintf("%s ms CPU (empty: %s)", figure(idle), figure(empty)), judge(idle <= empty+1, idle, empty),
		},
		{
			"64 goroutines, add and remove", "≤ 0.7 × package time",
			fmt.Sprintf("%.2f × (%s against %s ns)", ours/theirs, figure(ours), figure(theirs)), judge(ours <= 0.7*theirs, ours, theirs),
		},
		none("timers that fired early, in all trials of `million` and `accuracy`", early),
	}
}
