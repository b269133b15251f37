package redisstore

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Watch implements store.LeaseStore.
func (s *Store) Watch(hint func([]task.Entry)) { s.lanes.Watch(hint) }

// LaneNamespaces implements store.LeaseStore for the shards that this node
// owns.
func (s *Store) LaneNamespaces(ctx context.Context) ([]string, error) {
	return call(ctx, s, func() ([]string, error) { return s.lanes.Namespaces(), nil })
}

// LanePages implements store.LeaseStore for the shards that this node owns. A
// cursor consists of a shard's number and a place among the namespace's lanes
// in that shard.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	return call(ctx, s, func() ([]store.LanePage, error) { return s.lanes.Pages(until, reads), nil })
}

// Peek implements store.LeaseStore. It reads only shards of this node whose
// marks show that they can have entries.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return call(ctx, s, func() ([][]task.Entry, error) { return s.lanes.Peek(ctx, reads) })
}
