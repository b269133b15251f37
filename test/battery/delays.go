package main

import (
	"time"

	"github.com/foliot/foliot/test/battery/verify"
)

// mustDelays prints them and holds them against what is promised of a node's
// death: untouched tasks come within its shard lease and a second, those in
// flight within their own lease and a second.
func (n *nodes) mustDelays() error {
	e, err := n.evidence()
	if err != nil {
		return err
	}
	d := e.Delays()
	n.t.mustCome("untouched by a fault", d.Untouched, n.t.opts.shardLease+time.Second)
	n.t.mustCome("that were due at a fault, after it", d.Touched, n.t.opts.taskLease+time.Second)
	return nil
}

// mustCome prints how late some tasks were, and holds the latest against a bound.
func (t *trial) mustCome(what string, late []time.Duration, bound time.Duration) {
	t.lateness(what, late)
	most := verify.Percentile(late, 100)
	t.must(most <= bound, "the latest of %d %s: %s, at most %v", len(late), what, verify.Millis(most), bound)
}
