package pgstore

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

func (s *Store) memberConfig() membership.Config {
	c := s.config
	return membership.Config{
		Node: c.Node, Version: c.Version, Address: c.Address, APIs: c.APIs, Embedded: c.Embedded, Logger: c.Logger,
		Shards: s.shards, ShardOf: func(k task.Key) int { return int(sqltask.Shard(k, s.shards)) }, Watchers: &s.Watchers, Lease: s.lease, Heartbeat: s.heartbeat(), BeatRenews: true,
		Now:     s.now,
		Lag:     func() time.Duration { return s.Lag() },
		Applied: func() string { return *s.applied.Load() },
		Closed:  func() bool { return s.lost.Load() != nil },
		Prepare: s.prepare,
		Note:    s.failures.Note,
		UntilNext: func(period time.Duration) time.Duration {
			return period + rand.N(period/16) // nodes that start together do not keep in step
		},
	}
}

func (s *Store) heartbeat() time.Duration { return min(s.lease/6, time.Second) }

// silence is how long a node can be silent and still count as live.
func (s *Store) silence() time.Duration { return s.lease / 2 }

// numbers returns the numbers of the shards of this process, ready or not.
func (s *Store) numbers() []int16 { return numbersOf(s.member.Held()) }

func numbersOf(owned []*membership.Owned) []int16 {
	numbers := make([]int16, len(owned))
	for i, o := range owned {
		numbers[i] = int16(o.Shard)
	}
	return numbers
}

// prepare reads the first task of each lane in shards that this process has acquired. If
// ctx ends before, the read goes on, because a new one can last as long, and the next call
// waits for it.
func (s *Store) prepare(ctx context.Context, owned []*membership.Owned) error {
	for {
		fresh := slices.DeleteFunc(slices.Clone(owned), func(o *membership.Owned) bool { return o.Ready.Load() })
		if len(fresh) == 0 {
			return nil
		}
		if s.preparing == nil {
			read := make(chan error, 1)
			s.preparing = read
			s.working.Go(func() { read <- s.readOwned(s.closing, fresh) })
		}
		select {
		case err := <-s.preparing:
			if s.preparing = nil; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readOwned reads the first task of each lane in shards. Later polls read the news since
// this read. No poll may be under way when it begins, because that poll may not know the
// shards. If the process owned no other shards, it skips all older news: they can be
// millions, and another server can use numbers of transactions again that s.last has seen.
func (s *Store) readOwned(ctx context.Context, owned []*membership.Owned) error {
	of := map[int16]*membership.Owned{}
	for _, o := range owned {
		of[int16(o.Shard)] = o
	}
	if err := s.readsNewsOf(ctx, of); err != nil {
		return err
	}
	for part := range slices.Chunk(owned, max(s.atOnce, 1)) {
		var heads []head
		err := within(ctx, func(ctx context.Context) (err error) {
			heads, err = s.heads(ctx, numbersOf(part), math.MaxInt64)
			return err
		})
		if err != nil {
			s.atOnce /= 2 // a statement for all can last too long
			return err
		}
		entries := make([]task.Entry, len(heads))
		for i, h := range heads {
			entries[i] = h.Entry
			of[h.shard].Lowwater.Added(entries[i : i+1])
		}
		if err := s.surveyPending(ctx, numbersOf(part)); err != nil {
			return err
		}
		for _, o := range part {
			o.Ready.Store(true)
		}
		s.folded.Store(new(nothingSeen)) // no fold has read their news
		s.member.Hint(entries)
	}
	s.atOnce = s.shards
	return nil
}

// readsNewsOf waits until each later poll reads the news of shards.
func (s *Store) readsNewsOf(ctx context.Context, of map[int16]*membership.Owned) error {
	if err := s.polling.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.polling.Release(1)
	s.acquired.Store(int64(time.Since(s.opened)))
	// Rows of a dump that was restored elsewhere can have numbers that this server has yet
	// to hand out: no snapshot would count them as seen.
	const renumber = "UPDATE foliot.news SET xid = pg_current_xact_id() WHERE shard = ANY($1::smallint[]) AND xid >= pg_snapshot_xmax(pg_current_snapshot()) RETURNING 1::bigint"
	err := within(ctx, func(ctx context.Context) error { // a poll waits for it
		_, err := transact(ctx, s, pgx.RowTo[int64], change{how: unsynced, sql: renumber, args: []any{slices.Collect(maps.Keys(of))}})
		return err
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(numbersOf(s.member.Owned()), func(n int16) bool { return of[n] == nil }) {
		return nil
	}
	now, err := query(ctx, s, pgx.RowTo[string], "SELECT pg_current_snapshot()::text")
	if err == nil {
		s.last = now[0]
	}
	return err
}
