package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// TimeWins lists all measurements in which package time did better than Foliot.
func (v *view) TimeWins() string {
	return wins(v.comparisons(peer.Time), "In this run package time was never better.\n")
}

// OthersWin lists the measurements in which another design did better. It
// leaves out lateness, because the designs run callbacks in different ways.
func (v *view) OthersWin() string {
	var list []comparison
	for _, p := range peer.All {
		if p.Ours || p.Name == peer.Time || p.Name == peer.None {
			continue
		}
		list = append(list, v.throughputs(p.Name)...)
		list = append(list, v.costs(p.Name)...)
	}
	return wins(list, "In this run no other design was better.\n")
}

func wins(list []comparison, none string) string {
	var b strings.Builder
	for _, c := range list {
		if c.theirs < 0.95*c.ours { // a smaller difference is noise
			fmt.Fprintf(&b, "- %s: %s %s, Foliot %s %s.\n", c.what, c.name, figure(c.theirs), figure(c.ours), c.unit)
		}
	}
	if b.Len() == 0 {
		return none
	}
	return b.String()
}

// comparison has a value of another implementation and of Foliot. Less is
// better.
type comparison struct {
	what, unit   string
	name         string // of the other implementation
	theirs, ours float64
}

func (v *view) compare(name, what, unit, value string, k record.Job) comparison {
	info, _ := peer.Find(name)
	theirs, ours := k, k
	theirs.Peer, ours.Peer = name, peer.Foliot
	return comparison{what, unit, info.Title, v.stat(theirs, value).median, v.stat(ours, value).median}
}

func (v *view) comparisons(name string) []comparison {
	return append(append(v.throughputs(name), v.costs(name)...), v.delays(name)...)
}

func (v *view) throughputs(name string) (list []comparison) {
	for _, w := range []string{measure.AddRemove, measure.Heartbeat, measure.Hot, measure.Replace} {
		for _, n := range v.sizes(w) {
			what := fmt.Sprintf("`%s` with %s pending", w, Number(n))
			list = append(list, v.compare(name, what, "ns", record.WallNanos, key(w, "", n, 1)))
		}
		for _, g := range []int{2, 64} {
			what := fmt.Sprintf("`%s` from %d goroutines", w, g)
			list = append(list, v.compare(name, what, "ns", record.WallNanos, key(w, "", v.parallelSize(w), g)))
		}
	}
	return list
}

func (v *view) costs(name string) (list []comparison) {
	for _, n := range v.sizes(measure.Standing) {
		what, k := fmt.Sprintf("`standing`, %s", Number(n)), key(measure.Standing, "", n, 1)
		list = append(list, v.compare(name, what, "bytes", record.Bytes, k), v.compare(name, what, "ms of a collection", record.GCMs, k))
	}
	for _, n := range v.sizes(measure.Idle) {
		what := fmt.Sprintf("`idle` with %s pending", Number(n))
		c := v.compare(name, what, "ms CPU", record.CPUMs, key(measure.Idle, "", n, 1))
		if c.ours-c.theirs > 1 { // a smaller difference is that of an empty process
			list = append(list, c)
		}
	}
	return list
}

func (v *view) delays(name string) (list []comparison) {
	for _, k := range []record.Job{v.burstOf(""), v.accuracyOf("")} {
		for _, value := range []struct{ name, what string }{{record.P50Ms, "p50"}, {record.P99Ms, "p99"}} {
			list = append(list, v.compare(name, fmt.Sprintf("`%s`, late %s", k.Workload, value.what), "ms", value.name, k))
		}
	}
	return list
}

// Finer compares the lateness of package time and Foliot while there is little
// to do. Package time has no tick, so it is always less late.
func (v *view) Finer() string {
	theirs := v.stat(v.accuracyOf(peer.Time), record.P50Ms).median
	ours := v.stat(v.accuracyOf(peer.Foliot), record.P50Ms).median
	if math.IsNaN(theirs) || math.IsNaN(ours) {
		return ""
	}
	return fmt.Sprintf(" (here at the median %s ms, Foliot %s ms)", figure(theirs), figure(ours))
}
