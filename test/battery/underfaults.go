package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	faultRate  = 300 // creates a second, while Redis has faults
	faultAhead = time.Second
	faultShare = 0.05 // of them is cancelled
)

// underFaults creates tasks while fault goes on, and judges when all have come that will.
func (t *trial) underFaults(ctx context.Context, sub, url string, fault func(context.Context, *nodes) error) (v verify.Verdict, err error) {
	e, load, err := t.evidenceOf(ctx, sub, url, faultAhead, fault)
	if err != nil {
		return v, err
	}
	v = verify.Check(e)
	t.note("faults %d, creates answered %d, not at all %d, duplicates %d", v.Faults, v.Accepted, load.unanswered, v.Duplicates)
	t.lateness("of first arrivals, after faults too", v.Late)
	t.must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	return v, nil
}

// evidenceOf runs two nodes on the store at url with their logs below sub, and
// creates tasks at both, due up to ahead from then, while fault goes on.
func (t *trial) evidenceOf(ctx context.Context, sub, url string, ahead time.Duration, fault func(context.Context, *nodes) error, flags ...string) (e verify.Evidence, load *killLoad, err error) {
	n, err := t.nodesIn(sub, 2, url, append([]string{"--shard-lease", "1s", "--lease", "2s"}, flags...)...)
	if err != nil {
		return e, nil, err
	}
	defer n.close()
	if err := n.startAll(ctx); err != nil {
		return e, nil, err
	}
	load = &killLoad{st: n.stage, to: n.doors, rate: faultRate, ahead: ahead, share: faultShare}
	err = load.during(ctx, func() error {
		timing.Pause(ctx, time.Second) // they share the shards by then
		return fault(ctx, n)
	})
	if err != nil {
		return e, nil, err
	}
	if err := n.awaitPromised(ctx, 15*time.Second); err != nil {
		return e, nil, err
	}
	timing.Pause(ctx, 4*time.Second) // what comes twice or after its cancel would come by now
	if err := n.stopAll(25 * time.Second); err != nil {
		return e, nil, err
	}
	e, err = n.evidence()
	return e, load, err
}

// mustKeep holds v against what is promised while Redis itself loses nothing.
func (t *trial) mustKeep(v verify.Verdict) {
	t.must(v.Accepted > 0 && len(v.Lost) == 0, "lost %d of %d%s", len(v.Lost), v.Accepted, verify.Examples(v.Lost))
	t.must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	t.must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
}
