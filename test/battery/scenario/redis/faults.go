package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	faultRate  = 300 // creates a second, while Redis has faults
	faultAhead = time.Second
	faultShare = 0.05 // of them is cancelled
)

// underFaults creates tasks while fault goes on, and judges when all have come that will.
func underFaults(ctx context.Context, t *harness.Run, sub, url string, fault func(context.Context, *harness.Nodes) error) (v verify.Verdict, err error) {
	e, load, err := evidenceOf(ctx, t, sub, url, faultAhead, fault)
	if err != nil {
		return v, err
	}
	v = verify.Check(e)
	t.Note("faults %d, creates answered %d, not at all %d, duplicates %d", v.Faults, v.Accepted, load.Unanswered, v.Duplicates)
	t.Lateness("of first arrivals, after faults too", v.Late)
	t.Must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	return v, nil
}

// evidenceOf runs two nodes on the store at url with their logs below sub, and
// creates tasks at both, due up to ahead from then, while fault goes on.
func evidenceOf(ctx context.Context, t *harness.Run, sub, url string, ahead time.Duration, fault func(context.Context, *harness.Nodes) error, flags ...string) (e verify.Evidence, load *harness.Load, err error) {
	n, err := t.PrepareNodes(sub, 2, url, append([]string{"--shard-lease", "1s", "--lease", "2s"}, flags...)...)
	if err != nil {
		return e, nil, err
	}
	defer n.Close()
	if err := n.StartAll(ctx); err != nil {
		return e, nil, err
	}
	load = &harness.Load{Environment: n.Environment, Target: n.Endpoints, Rate: faultRate, DueWithin: ahead, CancelShare: faultShare}
	err = load.During(ctx, func() error {
		timing.Pause(ctx, time.Second) // they share the shards by then
		return fault(ctx, n)
	})
	if err != nil {
		return e, nil, err
	}
	if err := n.AwaitPromised(ctx, 15*time.Second); err != nil {
		return e, nil, err
	}
	timing.Pause(ctx, 4*time.Second) // time for repeats, and for callbacks after a cancel
	if err := n.StopAll(25 * time.Second); err != nil {
		return e, nil, err
	}
	e, err = n.Evidence()
	return e, load, err
}

// mustKeep checks the promises for a Redis that loses no data.
func mustKeep(t *harness.Run, v verify.Verdict) {
	t.Must(v.Accepted > 0 && len(v.Lost) == 0, "lost %d of %d%s", len(v.Lost), v.Accepted, verify.Examples(v.Lost))
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	t.Must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
}
