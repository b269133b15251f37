package redisstore

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// Watch implements task.Queue.
func (s *Store) Watch(hint func([]task.Entry)) { s.lanes.Watch(hint) }

// Lanes implements task.Queue for the shards that this node owns.
func (s *Store) Lanes(ctx context.Context, until task.Millis) ([]task.LaneHead, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.lanes.Heads(until), nil
}

// LaneNamespaces implements task.Queue for the shards that this node owns.
func (s *Store) LaneNamespaces(ctx context.Context) ([]string, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.lanes.Namespaces(), nil
}

// LanePages implements task.Queue for the shards that this node owns. A cursor
// consists of a shard's number and a place among the namespace's lanes in that
// shard.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []task.LanePageRead) ([]task.LanePage, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.lanes.Pages(until, reads), nil
}

// Peek implements task.Queue. It reads only shards of this node whose marks
// show that they may have entries.
func (s *Store) Peek(ctx context.Context, reads []task.LaneRead) ([][]task.Entry, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.lanes.Peek(ctx, reads)
	return found, s.failure(err)
}
