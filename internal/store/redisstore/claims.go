package redisstore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
	"github.com/foliot/foliot/internal/task"
)

// leaseWritten makes Reap read the shard of key when a lease that this process
// has written, or perhaps has written, ends.
func (s *Store) leaseWritten(key task.Key, until task.Millis) {
	if h := s.own.Acquired(s.shard(key)); h != nil {
		h.Leases.Lower(until)
	}
}

// Every thoroughReap-th call of Reap reads all shards of this node. So does the
// first call after a master was restarted or replaced, because that master may
// have lost writes. Other calls read only shards in which a lease may have ended.
const thoroughReap = 16

// Reap implements store.LeaseStore for the shards that this node owns.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	replaced := s.servers.Replaced.Load()
	thorough := s.reapCalls.Add(1)%thoroughReap == 0 || s.seenReplaced.Swap(replaced) != replaced
	var asked []*registry.OwnedShard
	var indexes []string
	for _, h := range s.own.Owned() {
		if thorough || h.Leases.Reached(now) {
			asked, indexes = append(asked, h), append(indexes, h.Running)
			h.Leases.Begin()
		}
	}
	firsts, err := s.firstScores(ctx, indexes)
	for i, h := range asked {
		if err != nil {
			h.Leases.Lower(0)
		} else if firsts[i] != nil {
			h.Leases.Lower(*firsts[i])
		}
	}
	if err != nil {
		return 0, s.failure(err)
	}
	ended := indexes[:0]
	for i, first := range firsts {
		if first != nil && *first <= now {
			ended = append(ended, indexes[i])
		}
	}
	return s.retire(ctx, now, limit, store.Step{Transition: kernel.Reap{}, Kind: store.Reaping}, ended)
}

// firstScores returns the lowest score in each index, nil if an index is empty.
func (s *Store) firstScores(ctx context.Context, indexes []string) ([]*task.Millis, error) {
	commands := make([]redisconn.Command, len(indexes))
	for i, index := range indexes {
		commands[i] = func(b rueidis.Builder) rueidis.Completed {
			return b.Zrange().Key(index).Min("0").Max("0").Withscores().Build()
		}
	}
	results, err := s.servers.Ask(ctx, commands...)
	if err != nil {
		return nil, err
	}
	firsts := make([]*task.Millis, len(indexes))
	for i, r := range results {
		found, err := r.AsZScores()
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			at := task.Millis(found[0].Score)
			firsts[i] = &at
		}
	}
	return firsts, nil
}

// Sweep implements store.LeaseStore for the shards that this node owns.
func (s *Store) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	var indexes []string
	for _, h := range s.own.Owned() {
		indexes = append(indexes, h.Keep)
	}
	n, err := s.retire(ctx, now, limit, store.Step{Transition: kernel.Remove{}, Kind: store.Removal}, indexes)
	if err != nil || n == limit {
		return n, err
	}
	trimmed, err := s.sweepLog(ctx, now, limit-n)
	return n + trimmed, s.failure(err)
}

// retire makes a step of tasks whose time in one of the indexes has
// come: at most limit, earliest first. It returns how many tasks it changed.
func (s *Store) retire(ctx context.Context, now task.Millis, limit int, how store.Step, indexes []string) (int, error) {
	keys, err := s.overdue(ctx, now, limit, indexes)
	if err != nil {
		return 0, s.failure(err)
	}
	steps := make([]*step, len(keys))
	for i, key := range keys {
		steps[i] = &step{Step: how}
		steps[i].Key = key
	}
	replies, err := s.submit(ctx, now, steps)
	if err != nil {
		return 0, err
	}
	s.logRetireFailure(how.Kind, keys, replies)
	n := 0
	var left []*task.Task
	for _, r := range replies {
		if r.Err == nil && r.Effect != 0 {
			n++
			left = append(left, r.Task)
		}
	}
	if how.Kind == store.Reaping && n > 0 && s.config.OnReap != nil {
		s.config.OnReap(left)
	}
	return n, nil
}

// logRetireFailure logs the first task that could not be retired. Every later
// call fails on the same task, and callers do not get this error.
func (s *Store) logRetireFailure(k store.Kind, keys []task.Key, replies []store.Reply) {
	action := "remove a task after its retention"
	if k == store.Reaping {
		action = "take back a task after its lease"
	}
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) && !errors.Is(r.Err, task.ErrLaneChanged) {
			s.servers.Failures.Note(action, r.Err, "task", keys[i].Name, "namespace", keys[i].Namespace)
			return
		}
	}
	s.servers.Failures.Note(action, nil)
}

// overdue returns the tasks whose score in one of the indexes is at or before
// now.
func (s *Store) overdue(ctx context.Context, now task.Millis, limit int, indexes []string) ([]task.Key, error) {
	type entry struct {
		key task.Key
		at  float64
	}
	commands := make([]redisconn.Command, len(indexes))
	for i, index := range indexes {
		commands[i] = func(b rueidis.Builder) rueidis.Completed {
			return b.Zrange().Key(index).Min("-inf").Max(redisconn.Score(now)).Byscore().Limit(0, int64(limit)).Withscores().Build()
		}
	}
	results, err := s.servers.Ask(ctx, commands...)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, r := range results {
		found, err := r.AsZScores()
		if err != nil {
			return nil, err
		}
		for _, z := range found {
			key, err := keyspace.ParseField(z.Member)
			if err != nil {
				return nil, err
			}
			all = append(all, entry{key, z.Score})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Namespace, b.key.Namespace))
	})
	keys := make([]task.Key, 0, min(len(all), limit))
	for _, e := range all[:min(len(all), limit)] {
		keys = append(keys, e.key)
	}
	return keys, nil
}

// Scrub implements store.Scrubber. A step ends at the end of its shard at the
// latest. There it compares the counts of the shard.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Scrubbed{}, err
	}
	defer leave()
	done, err := s.scrubber.Step(ctx, now, cursor, limit)
	return done, s.failure(err)
}

// takeBack makes a step that takes back the lease of a task, and reports whether
// it did.
func (s *Store) takeBack(ctx context.Context, now task.Millis, back store.Step) (bool, error) {
	st := &step{Step: back}
	if err := s.applySteps(ctx, &request{Store: s, now: now}, []*step{st}); err != nil {
		return false, err
	}
	return st.Reply.Err == nil && st.Reply.Effect != 0, nil
}
