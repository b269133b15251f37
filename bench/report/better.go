package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// TimeWins lists the measurements in which package time did better than Foliot: found out from the results, not
// chosen.
func (v *view) TimeWins() string {
	var b strings.Builder
	for _, c := range v.comparisons() {
		if c.theirs < 0.95*c.ours { // less is noise
			fmt.Fprintf(&b, "- %s: package time %s, %s %s %s.\n", c.what, figure(c.theirs), c.name, figure(c.ours), c.unit)
		}
	}
	if b.Len() == 0 {
		return "In this run there was no measurement in which package time did better.\n"
	}
	return b.String()
}

type comparison struct {
	what, unit, name string
	theirs, ours     float64
}

func (v *view) comparisons() (list []comparison) {
	compare := func(what, unit, value string, k record.Job, ours string) {
		theirs := k
		theirs.Peer = peer.Time
		k.Peer = ours
		info, _ := peer.Find(ours)
		list = append(list, comparison{what, unit, info.Title, v.stat(theirs, value).median, v.stat(k, value).median})
	}
	for _, w := range []string{measure.AddRemove, measure.Heartbeat, measure.Hot, measure.Replace} {
		for _, n := range v.sizes(w) {
			what := fmt.Sprintf("`%s` with %s standing", w, Number(n))
			compare(what, "ns", record.WallNanos, key(w, "", n, 1), peer.Foliot)
		}
		for _, g := range []int{2, 64} {
			n := v.parallelSize(w)
			compare(fmt.Sprintf("`%s` from %d goroutines", w, g), "ns", record.WallNanos, key(w, "", n, g), peer.Foliot)
		}
	}
	for _, n := range v.sizes(measure.Standing) {
		what := fmt.Sprintf("`standing`, %s", Number(n))
		compare(what, "bytes", record.Bytes, key(measure.Standing, "", n, 1), peer.Foliot)
		compare(what, "ms of a full collection", record.GCMs, key(measure.Standing, "", n, 1), peer.Foliot)
	}
	for _, n := range v.sizes(measure.Idle) {
		compare(fmt.Sprintf("`idle` with %s standing", Number(n)), "ms CPU", record.CPUMs, key(measure.Idle, "", n, 1), peer.Foliot)
	}
	for _, value := range []struct{ name, what string }{{record.P50Ms, "p50"}, {record.P99Ms, "p99"}} {
		for _, n := range v.sizes(measure.Million) {
			compare("`million`, late "+value.what, "ms", value.name, key(measure.Million, "", n, 1), peer.Foliot)
		}
		for _, n := range v.sizes(measure.Accuracy) {
			compare("`accuracy`, late "+value.what, "ms", value.name, key(measure.Accuracy, "", n, 1), peer.Foliot)
		}
	}
	return list
}

// Finer says how much less late package time is while there is little to do, which it always is: it has no tick.
func (v *view) Finer() string {
	theirs := v.stat(v.accuracyOf(peer.Time), record.P50Ms).median
	ours := v.stat(v.accuracyOf(peer.Foliot), record.P50Ms).median
	if math.IsNaN(theirs) || math.IsNaN(ours) {
		return ""
	}
	return fmt.Sprintf(" (here, half of its timers were late by less than %s ms, of Foliot's by %s ms)", figure(theirs), figure(ours))
}
