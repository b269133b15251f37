package node

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// notifying is a queue that notifies the API of settled tasks, so that long
// polls for them answer at once.
type notifying struct {
	store.LeaseStore

	notify func(keys ...task.Key)
}

// Settle settles, and then notifies: a poll sees durable outcomes only.
func (q notifying) Settle(ctx context.Context, now task.Millis, settlements []task.Settlement) ([]store.Reply, error) {
	replies, err := q.LeaseStore.Settle(ctx, now, settlements)
	if err == nil {
		for _, s := range settlements {
			q.notify(s.Key)
		}
	}
	return replies, err
}

// Claim claims, and notifies of tasks that it found expired.
func (q notifying) Claim(ctx context.Context, now task.Millis, claims []task.Claim) ([]store.Reply, error) {
	replies, err := q.LeaseStore.Claim(ctx, now, claims)
	for i := range replies {
		if replies[i].Err != nil && i < len(claims) {
			q.notify(claims[i].Key)
		}
	}
	return replies, err
}
