package dispatch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// slowPeek is a queue with slow reads.
type slowPeek struct {
	store.DispatchStore
	takes time.Duration
}

func (q slowPeek) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	if !pause(ctx, q.takes) {
		return nil, ctx.Err()
	}
	return q.DispatchStore.Peek(ctx, reads)
}

// TestManyLanesDoNotDelayTheSurvey: until all lanes had been read once, no
// other lane was surveyed. A task that came near during that time was not
// found.
func TestManyLanesDoNotDelayTheSurvey(t *testing.T) {
	const takes, lanes = time.Second, 1000
	slow := func(q store.DispatchStore) store.DispatchStore { return slowPeek{q, takes} }
	inBubble(t, Config{}, slow, accept, func(b *bed) {
		b.store.Watch(store.Watcher{Tasks: func([]task.Entry) {}}) // as after a restart: no hints
		changes := make([]task.Change, lanes)
		for i := range changes {
			changes[i] = task.Create{Spec: spec(t, fmt.Sprint("t", i), 0, to(fmt.Sprint("host", i)))}
		}
		if _, err := b.store.Transit(t.Context(), millis(), store.Changes(changes)); err != nil {
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
