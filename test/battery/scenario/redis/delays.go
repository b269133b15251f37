package redis

import (
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

// mustDelays prints the delays and compares them with the promise for the death of a
// node: untouched tasks come within its shard lease and a second, those in flight
// within their own lease and a second.
func mustDelays(n *harness.Nodes) error {
	e, err := n.Evidence()
	if err != nil {
		return err
	}
	d := e.Delays()
	mustArriveWithin(n.Run, "untouched by a fault", d.Untouched, n.Run.Options.ShardLease+time.Second)
	mustArriveWithin(n.Run, "that were due at a fault, after it", d.Touched, n.Run.Options.TaskLease+time.Second)
	return nil
}

// mustArriveWithin prints how late some tasks were, and holds the latest against a bound.
func mustArriveWithin(t *harness.Run, what string, late []time.Duration, bound time.Duration) {
	t.Lateness(what, late)
	most := verify.Percentile(late, 100)
	t.Must(most <= bound, "the latest of %d %s: %s, at most %v", len(late), what, verify.Millis(most), bound)
}
