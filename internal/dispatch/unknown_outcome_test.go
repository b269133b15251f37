package dispatch

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// The reply to a claim is lost, and the task is replaced before the claim is
// repeated. The lease is ours and must not stay behind.
func TestATaskReplacedDuringAnUncertainClaimIsDelivered(t *testing.T) {
	f := &faults{fail: func(op string, n int) (before, after error) {
		if op == "claim" && n == 1 {
			return nil, errBroken
		}
		return nil, nil
	}}
	inBubble(t, Config{}, f.over, accept, func(b *bed) {
		b.create("t", time.Second)
		b.pass(time.Second + firstWait/2)
		next := spec(t, "t", 0)
		next.ID = "another"
		b.apply(task.Replace{Spec: next})
		b.pass(30 * time.Second)
		b.wantState("t", task.Delivered)
		b.wantCalls(1)
	})
}
