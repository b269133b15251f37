package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Reap implements store.Cluster for the shards that this node owns.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	return s.retire(ctx, now, limit, store.Step{Transition: kernel.Reap{}, Kind: store.Reaping}, func(sh *keyspace.Shard) string { return sh.Running })
}

// Sweep implements store.DispatchStore for the shards that this node owns.
func (s *Store) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	n, err := s.retire(ctx, now, limit, store.Step{Transition: kernel.Remove{}, Kind: store.Removal}, func(sh *keyspace.Shard) string { return sh.Keep })
	if err != nil || n == limit {
		return n, err
	}
	trimmed, err := s.sweepLog(ctx, now, limit-n)
	return n + trimmed, s.failure(err)
}

// retire makes a step of tasks whose time in an index has come, at most limit,
// earliest first, and returns how many it changed.
func (s *Store) retire(ctx context.Context, now task.Millis, limit int, how store.Step, index func(*keyspace.Shard) string) (int, error) {
	keys, err := s.overdue(ctx, now, limit, how.Kind, index)
	if err != nil {
		return 0, s.failure(err)
	}
	left, err := kernel.Retire(keys, how, func(steps []store.Step) ([]store.Reply, error) {
		return s.submit(ctx, now, kernel.Begin[records.Record, extra](steps))
	}, s.servers.Failures.Note)
	if how.Kind == store.Reaping && len(left) > 0 && s.config.OnReap != nil {
		s.config.OnReap(left)
	}
	return len(left), err
}

// overdue returns the tasks whose score in an index of the owned shards is at or
// before now.
func (s *Store) overdue(ctx context.Context, now task.Millis, limit int, k store.Kind, index func(*keyspace.Shard) string) ([]task.Key, error) {
	parts, _ := redisconn.Group(s.servers.Cluster, s.member.Shards(), func(sh *keyspace.Shard) *keyspace.Shard { return sh })
	if k != store.Reaping { // their indexes can be long, and Redis runs nothing during a run
		parts = slices.Collect(slices.Chunk(slices.Concat(parts...), 1))
	}
	runs := make([]redisconn.Run, len(parts))
	for i, part := range parts { // one run reads many indexes for the cost of two commands
		runs[i].Args = []string{redisconn.Score(now)}
		for _, h := range part {
			runs[i].Keys, runs[i].Args = append(runs[i].Keys, index(h)), append(runs[i].Args, "0", strconv.Itoa(limit))
		}
	}
	found, err := redisconn.ReadRuns(ctx, s.servers, lanes.ScoreLists, lanes.Listing, runs...)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(slices.Concat(found...)...)
	slices.SortFunc(all, func(a, b rueidis.ZScore) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Member, b.Member))
	})
	keys := make([]task.Key, min(len(all), limit))
	for i := range keys {
		if keys[i], err = keyspace.ParseField(all[i].Member); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// Scrub implements store.Scrubber. A step ends at the end of its shard at the
// latest, where it compares the counts of the shard.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	return store.Call(ctx, &s.calls, func() (store.Scrubbed, error) { return s.scrubber.Step(ctx, now, cursor, limit) })
}

// takeBack makes a step that takes back the lease of a task, and reports whether
// it did.
func (s *Store) takeBack(ctx context.Context, now task.Millis, back store.Step) (bool, error) {
	st := &step{Step: back}
	if err := kernel.Make(ctx, s.medium(ctx, now), []*step{st}); err != nil {
		return false, err
	}
	return st.Reply.Err == nil && st.Reply.Effect != 0, nil
}

// LanePages implements store.DispatchStore for the shards that this node owns.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	return store.Call(ctx, &s.calls, func() ([]store.LanePage, error) { return lowwater.Pages(s.member.Marks(), until, reads), nil })
}

// Peek implements store.DispatchStore. It reads only shards of this node whose
// marks show that they can have entries.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return store.Call(ctx, &s.calls, func() ([][]task.Entry, error) { return s.lanes.Peek(ctx, reads) })
}
