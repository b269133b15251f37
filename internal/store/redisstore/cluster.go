package redisstore

import (
	"context"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

var _ store.Cluster = (*Store)(nil)

// Standing implements store.Store.
func (s *Store) Standing() store.Standing {
	m := s.member.Standing()
	m.Rollbacks = s.identity.Rollbacks()
	return store.Standing{
		Durability: string(s.config.Durability), Err: s.err(), Settings: s.settings.Load().settings,
		Shared: !s.config.Alone, Membership: m,
	}
}

// Owns reports whether this node owns the shard of a task, without I/O.
func (s *Store) Owns(key task.Key) bool { return s.member.Shard(s.shard(key)) != nil }

// Nodes implements store.Cluster.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	return store.Call(ctx, &s.calls, func() ([]store.Node, error) { return s.member.Nodes(ctx) })
}

// Shards implements store.Cluster.
func (s *Store) Shards(ctx context.Context) ([]store.Shard, error) {
	return store.Call(ctx, &s.calls, func() ([]store.Shard, error) { return s.readShards(ctx) })
}

func (s *Store) readShards(ctx context.Context) ([]store.Shard, error) {
	owners, err := s.member.Leases(ctx)
	if err != nil {
		return nil, err
	}
	running, err := redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsInt64, redisconn.EachOf(s.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zcard().Key(sh.Running).Build()
	})...)
	if err != nil {
		return nil, err
	}
	heads, err := redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsZScores, redisconn.EachOf(s.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("0").Max("0").Withscores().Build()
	})...)
	if err != nil {
		return nil, err
	}
	now, all := s.now(), make([]store.Shard, len(s.shards))
	for i, o := range owners {
		all[i] = store.Shard{Number: i, Epoch: o.Epoch, Running: int(running[i])}
		if o.Until > now {
			all[i].Owner, _, _ = strings.Cut(o.ID, "/")
			all[i].Until = o.Until
		}
		if len(heads[i]) > 0 {
			all[i].NextDue = task.Millis(heads[i][0].Score)
		}
	}
	return all, nil
}

// Drain implements store.Cluster.
func (s *Store) Drain(ctx context.Context, now task.Millis, d store.Drain) error {
	_, err := store.Call(ctx, &s.calls, func() (string, error) {
		changed, err := s.member.Drain(ctx, d)
		if err != nil || !changed {
			return "", err
		}
		return s.configure(ctx, s.configureRun("", []settings.AuditEntry{store.AuditDrain(now, settings.ActorOf(ctx), d)}))
	})
	return err
}

// Release gives all shards to the other nodes for good: see membership.Member.
// Close begins with it.
func (s *Store) Release() { s.member.Release() }
