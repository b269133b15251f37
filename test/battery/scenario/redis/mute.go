package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	mutePoll   = 250 * time.Millisecond // the interval at which a node reads tasks that other nodes added
	muteMargin = 500 * time.Millisecond
)

// Mute: no node receives wake-ups from other nodes, but each finds the tasks
// that they add.
func Mute(ctx context.Context, t *harness.Run) {
	p := t.StartProxiedRedis()
	p.Mute()
	v := underFaults(ctx, t, ".", "redis://"+p.Addr, func(*harness.Environment) { harness.Pause(ctx, 10*time.Second) })
	mustKeep(t, v)
	t.Must(p.Muted() > 0, "messages dropped: %d", p.Muted())
	worst := verify.Percentile(v.Late, 100)
	t.Must(worst <= mutePoll+muteMargin, "at most %s late, when only a poll every %v finds the tasks", verify.Millis(worst), mutePoll)
}
