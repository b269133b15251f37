package dispatch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// slowPeek is a queue whose reads take their time.
type slowPeek struct {
	task.Queue
	takes time.Duration
}

func (q slowPeek) Peek(ctx context.Context, reads []task.LaneRead) ([][]task.Entry, error) {
	if !pause(ctx, q.takes) {
		return nil, ctx.Err()
	}
	return q.Queue.Peek(ctx, reads)
}

// TestManyLanesDoNotHoldUpTheSurvey: until all of them were read once, nothing
// else was looked at, and a task that came near meanwhile was not found.
func TestManyLanesDoNotHoldUpTheSurvey(t *testing.T) {
	const takes, lanes = time.Second, 1000
	slow := func(q task.Queue) task.Queue { return slowPeek{q, takes} }
	inBubble(t, Config{}, slow, accept, func(b *bed) {
		b.store.Watch(nil) // as after a restart: nothing is told
		changes := make([]task.Change, lanes)
		for i := range changes {
			changes[i] = task.Create{Spec: spec(t, fmt.Sprint("t", i), 0, to(fmt.Sprint("host", i)))}
		}
		if _, err := b.store.Apply(t.Context(), millis(), changes); err != nil {
			t.Fatal(err)
		}
		time.Sleep(takes)
		before := b.Stats().Polls
		time.Sleep(3*takes - takes/2)
		if n := b.Stats().Polls - before; n < 2 {
			t.Errorf("%d surveys while lanes were read for %v", n, 3*takes)
		}
	})
}
