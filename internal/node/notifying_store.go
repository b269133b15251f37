package node

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// notifying is a DispatchStore that notifies the API of settled tasks, so that long
// polls for them return at once.
type notifying struct {
	store.DispatchStore

	notify func(keys ...task.Key)
}

// Transit makes the steps first and notifies afterwards, so that a poll returns
// only durable outcomes. It notifies of each settled task, and of each task that
// could not be claimed, because that may have expired.
func (q notifying) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	replies, err := q.DispatchStore.Transit(ctx, now, steps)
	for i, r := range replies {
		if st := &steps[i]; st.Kind == store.Settlement || st.Kind == store.Claim && r.Err != nil {
			q.notify(st.Key)
		}
	}
	return replies, err
}
