package redisstore

import (
	"context"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

var _ store.Cluster = (*Store)(nil)

// Standing implements store.Store.
func (s *Store) Standing() store.Standing {
	m := s.own.Standing()
	m.Closed, m.Unfit, m.Rollbacks = s.identity.Lost() != nil, s.servers.Unfit.Load() != nil, s.identity.Rollbacks()
	return store.Standing{
		Durability: string(s.config.Durability), Err: s.err(), Settings: s.settings.Load().settings,
		Shared: !s.config.Alone, Membership: m,
	}
}

// Owns reports whether this node owns the shard of a task, without I/O.
func (s *Store) Owns(key task.Key) bool { return s.own.Shard(s.shard(key)) != nil }

// Nodes implements store.Cluster.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.config.Alone {
		return []store.Node{s.own.Alone(s.now())}, nil
	}
	all, err := s.own.Nodes(ctx)
	return all, s.failure(err)
}

// Shards implements store.Cluster.
func (s *Store) Shards(ctx context.Context) ([]store.Shard, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	all, err := s.readShards(ctx)
	return all, s.failure(err)
}

func (s *Store) readShards(ctx context.Context) ([]store.Shard, error) {
	owners, err := s.own.Leases(ctx)
	if err != nil {
		return nil, err
	}
	now, all := s.now(), make([]store.Shard, len(s.shards))
	for i, o := range owners {
		all[i] = store.Shard{Number: i, Epoch: o.Epoch}
		if o.Until > now {
			all[i].Owner, _, _ = strings.Cut(o.Process, "/")
			all[i].Until = o.Until
		}
	}
	running, err := s.servers.EachShard(ctx, s.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zcard().Key(sh.Running).Build()
	})
	if err != nil {
		return nil, err
	}
	for i, r := range running {
		n, err := r.AsInt64()
		if err != nil {
			return nil, err
		}
		all[i].Running = int(n)
	}
	heads, err := s.servers.EachShard(ctx, s.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("0").Max("0").Withscores().Build()
	})
	if err != nil {
		return nil, err
	}
	for i, r := range heads {
		first, err := r.AsZScores()
		if err != nil {
			return nil, err
		}
		if len(first) > 0 {
			all[i].NextDue = task.Millis(first[0].Score)
		}
	}
	return all, nil
}

// Drain implements store.Cluster.
func (s *Store) Drain(ctx context.Context, now task.Millis, d store.Drain) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	changed, err := s.own.Drain(ctx, d)
	if changed {
		err = s.record(ctx, []settings.AuditEntry{store.AuditDrain(now, settings.ActorOf(ctx), d)})
	}
	return s.failure(err)
}

// Release gives all shards to the other nodes at once and for good. This
// process claims nothing from then on, but can settle and extend its claims.
// Release returns when other nodes can acquire the shards. Close begins with
// it. If the servers are away, Release ends soon, and the leases of the
// shards end by themselves.
func (s *Store) Release() { s.own.Release() }
