package pgstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// look is this node's knowledge of the rows that Reap or Sweep reads. An idle node skips
// looks after one that found no rows, because only its own claims make leases in its
// shards. Most looks begin behind the head of the index, where dead rows can be many. Now
// and then a look reads all, because a write may be later than usual.
type look struct {
	late time.Duration // most rows are visible so long after their time

	mu   sync.Mutex    // guards everything below, and is held during a look
	all  time.Duration // when the last look at all rows was, after Store.opened
	from task.Millis   // there are no rows before it
	some bool          // the last look found some
}

const (
	lookAtAll = 5 * time.Minute
	restAfter = 30 * time.Second // without work: a claim has ended by then, or has failed

	// A record can be old when its task ends. A claim is usually visible before its lease ends.
	lateRecord, lateLease = 2 * statementEnds, statementEnds / 2
)

// Reap implements store.Reaper for the shards that this node owns. In an idle node, the last row
// of the look shows whether there are later leases. It also deletes leases of tasks that have ended:
// a user's transaction at REPEATABLE READ leaves them, because it could not delete a lease
// that was extended since its snapshot.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	return store.Call(ctx, &s.calls, func() (int, error) {
		n, _, err := s.retire(ctx, &s.leases, now, limit, store.Step{Transition: kernel.Reap{}, Kind: store.Reaping},
			`WITH found AS MATERIALIZED (
				SELECT l.key FROM unnest($1::smallint[]) n, LATERAL (SELECT key FROM foliot.lease WHERE shard = n AND until > $4 AND until <= $2 ORDER BY until LIMIT $3) l LIMIT $3
			), left_behind AS (DELETE FROM foliot.lease WHERE ctid = ANY(ARRAY(
				SELECT ctid FROM foliot.lease l WHERE key = ANY(ARRAY(SELECT key FROM found)) AND until + 0 <= $2
					AND NOT coalesce((SELECT running FROM foliot.task t WHERE t.key = l.key), false) FOR UPDATE SKIP LOCKED)))
			SELECT key FROM found`, " UNION ALL (SELECT '' FROM foliot.lease WHERE shard = ANY($1) AND until > $2 LIMIT 1)")
		return n, err
	})
}

// Sweep implements store.DispatchStore for the shards that this node owns.
func (s *Store) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	return store.Call(ctx, &s.calls, func() (int, error) {
		n, all, err := s.retire(ctx, &s.ended, now, limit, store.Step{Transition: kernel.Remove{}, Kind: store.Removal},
			"SELECT t.key FROM unnest($1::smallint[]) n, LATERAL (SELECT key FROM foliot.task WHERE shard = n AND keep > $4 AND keep <= $2 ORDER BY keep LIMIT $3) t LIMIT $3", "")
		if err != nil || n == limit || !all {
			return n, err
		}
		const unused = "DELETE FROM foliot.permit WHERE ends <= extract(epoch FROM clock_timestamp()) * 1000000 RETURNING 1::bigint"
		if _, err := transact(ctx, s, pgx.RowTo[int64], change{how: unsynced, sql: unused}); err != nil {
			return n, err
		}
		trimmed, err := s.sweepLog(ctx, now, limit-n)
		return n + trimmed, err
	})
}

// retire makes a step of overdue tasks, at most limit, and returns how many it
// changed, and whether it has read all rows. The end of sql is that of an idle node.
func (s *Store) retire(ctx context.Context, l *look, now task.Millis, limit int, how store.Step, sql, end string) (n int, all bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := time.Since(s.opened)
	all = s.config.CallersClock || l.all == 0 || at-l.all >= lookAtAll || l.all < time.Duration(s.acquired.Load())
	idle := s.idleFor() > restAfter && at-time.Duration(s.acquired.Load()) > restAfter
	from := l.from
	switch {
	case all:
		from = 0
	case !l.some && idle:
		return 0, false, nil
	}
	if l.some = true; idle {
		sql += end
	}
	numbers := s.numbers()
	rand.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] }) // a shard can have limit tasks that are locked
	size := max(len(numbers), 1)
	if all {
		size = 4 // shards, because dead rows at the head can be too many for one statement
	}
	var keys []task.Key
	some := !idle
	for part := range slices.Chunk(numbers, size) {
		found, err := query(ctx, s, pgx.RowTo[string], sql, part, int64(now), limit-len(keys), int64(from))
		if err != nil {
			return 0, false, err
		}
		some = some || len(found) > 0
		for _, text := range found {
			if text == "" { // there is a later lease
				continue
			}
			k, err := sqltask.ParseKey(text)
			if err != nil {
				return 0, false, err
			}
			keys = append(keys, k)
		}
		if len(keys) == limit {
			break
		}
	}
	left, err := kernel.Retire(keys, how, func(steps []store.Step) ([]store.Reply, error) { return s.transit(ctx, now, steps) }, s.failures.Note)
	if how.Kind == store.Reaping && len(left) > 0 && s.config.OnReap != nil {
		s.config.OnReap(left)
	}
	if err == nil && len(left) == len(keys) && len(keys) < limit {
		l.from, l.some = now.Add(-l.late), some
		if all {
			l.all = at
		}
	}
	return len(left), all, err
}
