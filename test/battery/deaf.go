package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	mutePoll   = 250 * time.Millisecond // how often a node looks for what others have put in
	muteMargin = 500 * time.Millisecond
)

// deaf: no node hears of what another has put into its shards, and finds it all the same.
func deaf(ctx context.Context, t *trial) error {
	p, end, err := t.proxied()
	if err != nil {
		return err
	}
	defer end()
	p.Mute()
	v, err := t.underFaults(ctx, ".", "redis://"+p.Addr, func(ctx context.Context, n *nodes) error {
		timing.Pause(ctx, 10*time.Second)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	t.mustKeep(v)
	t.must(p.Muted() > 0, "messages dropped: %d", p.Muted())
	worst := verify.Percentile(v.Late, 100)
	t.must(worst <= mutePoll+muteMargin, "at most %s late, where a poll every %v finds what nobody told", verify.Millis(worst), mutePoll)
	return nil
}
