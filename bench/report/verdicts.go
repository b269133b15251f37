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

// none is a target of zero per operation. A value below a thousandth was not
// caused by the operation.
func none(what string, value float64) page.Target {
	return page.Target{What: what, Wanted: "0", Measured: page.Figure(value), Reached: value < 0.001}
}

// faster is a target of a speed relative to package time.
func (v *view) faster(what, workload string, n int, wanted float64) page.Target {
	ours := v.median(workload, peer.Foliot, n, record.WallNanos)
	theirs := v.median(workload, peer.Time, n, record.WallNanos)
	return page.Target{
		What: what, Wanted: fmt.Sprintf("≥ %g × package time", wanted),
		Measured: fmt.Sprintf("%.1f × (%s against %s ns)", theirs/ours, page.Figure(ours), page.Figure(theirs)),
		Reached:  theirs >= wanted*ours,
	}
}

// Missed says which targets were missed.
func (v *view) Missed() string { return page.Missed(v.targets()) }

func (v *view) targets() []page.Target {
	ns := func(n int) float64 { return v.median(measure.AddRemove, peer.Foliot, n, record.WallNanos) }
	standing := func(n int, name string) float64 { return v.median(measure.Standing, peer.Foliot, n, name) }
	list := []page.Target{
		page.Most("add and remove at once, 10³ pending", ns(1_000), 75, "ns"),
		page.Most("add and remove at once, 10⁶ pending", ns(million), 80, "ns"),
		page.Most("add and remove at once, 10⁷ pending", ns(tenfold), 90, "ns"),
		v.faster("add and remove at once, 10⁶ pending", measure.AddRemove, million, 3),
		none("allocations of add and remove", v.median(measure.AddRemove, peer.Foliot, million, record.Allocs)),
		v.faster("extend a random timer, 10⁶", measure.Heartbeat, million, 2),
		v.faster("extend a random timer, 10⁷", measure.Heartbeat, tenfold, 2),
		v.faster("extend a hot timer", measure.Hot, million, 1),
		v.faster("remove a random timer and add another, 10⁶", measure.Replace, million, 2),
		page.Most("bytes per pending timer with an 8-byte value, 10⁶", standing(million, record.Bytes), 40, "bytes"),
		page.Most("full collection, 10⁷ pending", standing(tenfold, record.GCMs), 2, "ms"),
	}
	list = append(list, v.burstTargets(peer.FoliotBatch, "batch", 250, 5)...)
	list = append(list, v.burstTargets(peer.Foliot, "a goroutine each", 700, 50)...)
	return append(list, v.otherTargets()...)
}

// burstTargets include the CPU time of setting the timers.
func (v *view) burstTargets(name, how string, cpu, late float64) []page.Target {
	k := key(measure.Million, name, million, 1)
	set, fire := v.stat(k, record.AddMs).median, v.stat(k, record.FireMs).median
	total := page.Most("10⁶ due within 1 s, "+how+", total CPU", set+fire, cpu, "ms")
	total.Measured += fmt.Sprintf(" (%s to set, %s to fire)", page.Figure(set), page.Figure(fire))
	return []page.Target{total, page.Most("10⁶ due within 1 s, "+how+", late p99", v.stat(k, record.P99Ms).median, late, "ms")}
}

func (v *view) otherTargets() []page.Target {
	idle := v.median(measure.Idle, peer.Foliot, 100_000, record.CPUMs)
	empty := v.median(measure.Idle, peer.None, 100_000, record.CPUMs)
	n := v.parallelSize(measure.AddRemove)
	ours := v.stat(key(measure.AddRemove, peer.Foliot, n, 64), record.WallNanos).median
	theirs := v.stat(key(measure.AddRemove, peer.Time, n, 64), record.WallNanos).median
	early := 0.0
	for _, name := range []string{peer.Foliot, peer.FoliotBatch} {
		early += v.stat(v.only(measure.Accuracy, name), record.Early).max + v.stat(v.only(measure.Million, name), record.Early).max
	}
	return []page.Target{
		{
			What: "idle for 10 s, 10⁵ pending", Wanted: "as an empty process (within 1 ms)",
			Measured: fmt.Sprintf("%s ms CPU (empty: %s)", page.Figure(idle), page.Figure(empty)), Reached: idle <= empty+1,
		},
		{
			What: "64 goroutines, add and remove", Wanted: "≤ 0.7 × package time",
			Measured: fmt.Sprintf("%.2f × (%s against %s ns)", ours/theirs, page.Figure(ours), page.Figure(theirs)), Reached: ours <= 0.7*theirs,
		},
		none("timers that fired early, in all trials of `million` and `accuracy`", early),
	}
}

// compared lists the values in which Foliot is compared with the other peers. Less
// is better.
var compared = []struct{ workload, value, what, unit string }{
	{measure.AddRemove, record.WallNanos, "", "ns"},
	{measure.Heartbeat, record.WallNanos, "", "ns"},
	{measure.Hot, record.WallNanos, "", "ns"},
	{measure.Replace, record.WallNanos, "", "ns"},
	{measure.Standing, record.Bytes, "", "bytes"},
	{measure.Standing, record.GCMs, "", "ms of a collection"},
	{measure.Idle, record.CPUMs, "", "ms CPU"},
	{measure.Million, record.FireMs, "", "ms CPU to fire"},
	{measure.Million, record.P50Ms, ", late p50", "ms"},
	{measure.Million, record.P99Ms, ", late p99", "ms"},
	{measure.Accuracy, record.P50Ms, ", late p50", "ms"},
	{measure.Accuracy, record.P99Ms, ", late p99", "ms"},
}

// TimeWins lists all measurements in which package time did better than Foliot.
func (v *view) TimeWins() []string {
	info, _ := peer.Find(peer.Time)
	return v.wins(info)
}

// OthersWin lists the measurements in which another design did better. It
// leaves out lateness, because the designs run callbacks in different ways.
func (v *view) OthersWin() (list []string) {
	for _, p := range peer.All {
		if !p.Ours && p.Name != peer.Time && p.Name != peer.None {
			list = append(list, v.wins(p)...)
		}
	}
	return list
}

func (v *view) wins(p peer.Info) (list []string) {
	for _, c := range compared {
		if c.what != "" && p.Name != peer.Time {
			continue
		}
		for _, n := range v.sizes(c.workload) {
			where := fmt.Sprintf("`%s` with %s pending", c.workload, Number(float64(n)))
			if c.what != "" {
				where = fmt.Sprintf("`%s`%s", c.workload, c.what)
			}
			list = append(list, v.win(p, where, c.value, c.unit, key(c.workload, "", n, 1))...)
		}
		for _, g := range v.crews(c.workload) {
			k := key(c.workload, "", v.parallelSize(c.workload), g)
			list = append(list, v.win(p, fmt.Sprintf("`%s` from %d goroutines", c.workload, g), c.value, c.unit, k)...)
		}
	}
	return list
}

// win returns a line if an implementation was better than Foliot. A smaller
// difference is noise, or in the CPU time of an idle process that of an empty
// one.
func (v *view) win(p peer.Info, where, value, unit string, k record.Job) []string {
	theirs, ours := k, k
	theirs.Peer, ours.Peer = p.Name, peer.Foliot
	their, our := v.stat(theirs, value).median, v.stat(ours, value).median
	if !(their < 0.95*our) || value == record.CPUMs && our-their <= 1 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s %s, Foliot %s %s.", where, p.Title, page.Figure(their), page.Figure(our), unit)}
}
