package main

import (
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/verify"
)

// mustTally prints what a sink's log says of tasks, and holds it against what
// every scenario promises.
func (t *trial) mustTally(n verify.Numbered, path string) (verify.Tally, error) {
	v, err := n.Tally(receiver.ReadDeliveries(path))
	if err != nil {
		return v, err
	}
	t.note("%s: accepted %d, arrived %d", n.Prefix, n.Count, v.Arrived)
	t.must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.must(v.Early.Count == 0, "early %v", v.Early)
	t.must(v.Repeats == 0, "duplicates without a fault %d", v.Repeats)
	return v, nil
}
