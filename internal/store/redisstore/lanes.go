package redisstore

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/task"
)

// LanePages implements store.LeaseStore for the shards that this node owns. A
// cursor consists of a shard's number and a place among the namespace's lanes
// in that shard.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.lanes.Pages(until, reads), nil
}

// Upcoming implements store.TaskStore. A record that changes during the call can
// be missing.
func (s *Store) Upcoming(ctx context.Context, r store.UpcomingRead) (task.Upcoming, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return task.Upcoming{}, err
	}
	defer leave()
	page, err := s.upcoming(ctx, r)
	return page, s.failure(err)
}

func (s *Store) upcoming(ctx context.Context, r store.UpcomingRead) (task.Upcoming, error) {
	limit := r.Limit
	r.Limit++ // one more shows that there is more
	entries, end, err := s.lanes.Upcoming(ctx, r)
	if err != nil {
		return task.Upcoming{}, err
	}
	reads := make([]records.Read, len(entries))
	for i, e := range entries {
		reads[i] = records.Read{Key: e.Key()}
	}
	got, err := s.records.ReadAll(ctx, reads)
	if err != nil {
		return task.Upcoming{}, err
	}
	page := task.NewUpcoming(r.Until)
	for i, g := range got {
		if t := g.Task; t != nil && t.State == task.Scheduled && t.Entry() == entries[i] && !page.Add(t, limit) {
			return page, nil
		}
	}
	if end <= r.Until {
		page.End(end)
	}
	return page, nil
}

// Peek implements store.LeaseStore. It reads only shards of this node whose
// marks show that they can have entries.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.lanes.Peek(ctx, reads)
	return found, s.failure(err)
}

// Due implements store.TaskStore for the shards of all nodes.
func (s *Store) Due(ctx context.Context, r store.DueRead, found store.DueFound) (task.Millis, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	exact, err := s.lanes.Due(ctx, r, found)
	return exact, s.failure(err)
}
