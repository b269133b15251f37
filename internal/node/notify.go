package node

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// notifying is a LeaseStore that notifies the API of settled tasks, so that long
// polls for them return at once.
type notifying struct {
	store.LeaseStore

	notify func(keys ...task.Key)
}

// Settle settles first and notifies afterwards, so that a poll returns only
// durable outcomes.
func (q notifying) Settle(ctx context.Context, now task.Millis, settlements []task.Settlement) ([]store.Reply, error) {
	replies, err := q.LeaseStore.Settle(ctx, now, settlements)
	if err == nil {
		for _, s := range settlements {
			q.notify(s.Key)
		}
	}
	return replies, err
}

// Claim claims tasks. It notifies the API of each task that it could not claim,
// because the task may have expired.
func (q notifying) Claim(ctx context.Context, now task.Millis, claims []task.Claim) ([]store.Reply, error) {
	replies, err := q.LeaseStore.Claim(ctx, now, claims)
	for i := range replies {
		if replies[i].Err != nil && i < len(claims) {
			q.notify(claims[i].Key)
		}
	}
	return replies, err
}
