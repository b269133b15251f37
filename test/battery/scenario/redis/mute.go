package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	mutePoll   = 250 * time.Millisecond // how often a node looks for tasks that other nodes added
	muteMargin = 500 * time.Millisecond
)

// Mute: no node receives wake-ups from others, and each finds their tasks all the same.
func Mute(ctx context.Context, t *harness.Run) error {
	p, end, err := t.StartProxiedRedis()
	if err != nil {
		return err
	}
	defer end()
	p.Mute()
	v, err := underFaults(ctx, t, ".", "redis://"+p.Addr, func(ctx context.Context, n *harness.Nodes) error {
		timing.Pause(ctx, 10*time.Second)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	mustKeep(t, v)
	t.Must(p.Muted() > 0, "messages dropped: %d", p.Muted())
	worst := verify.Percentile(v.Late, 100)
	t.Must(worst <= mutePoll+muteMargin, "at most %s late, when only a poll every %v finds the tasks", verify.Millis(worst), mutePoll)
	return nil
}
