package scale

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Fair: a queue with a backlog, and one with a few tasks that come due while it
// is worked off. Both go to the same receiver, through few slots.
func Fair(ctx context.Context, t *harness.Run) {
	const slots = 64
	st := t.NewEnvironment(ctx, "--concurrency", fmt.Sprint(slots))
	fast := st.StartFast("127.0.0.1:0")
	const few, after = 100, 200 * time.Millisecond
	start := timing.DueIn(harness.LeadFor(t.Options.Backlog))
	big := verify.Numbered{Prefix: "big", Count: t.Options.Backlog, Due: func(int) time.Time { return start }}
	small := verify.Numbered{Prefix: "small", Count: few, Due: func(int) time.Time { return start.Add(after) }}
	st.ImportNumbered(ctx, small, "small", fast.URL())
	st.ImportNumbered(ctx, big, "big", fast.URL())
	harness.Check(fast.Await(ctx, big.Count+small.Count, start, 30*time.Second))
	st.StopWith(fast)
	backlog := t.JudgeNumbered(big, fast.Path)
	little := t.JudgeNumbered(small, fast.Path)
	t.Lateness("of the few", little.Late)
	t.Note("the backlog was worked off %s after it was due", verify.Millis(verify.Percentile(backlog.Late, 100)))
	t.Must(verify.Percentile(backlog.Late, 100) > after, "there was still a backlog when the few came due")
	first := harness.OK(big.Between(receiver.ReadDeliveries(fast.Path), small.Due(0), little.Last))
	// If the queues take turns, the backlog starts as many tasks as the small
	// queue, plus the tasks under way when the small queue came due.
	const atMost = 2*few + 2*slots
	t.Must(first <= atMost, "of the backlog came %d before the last of the few %d, at most %d", first, few, atMost)
}
