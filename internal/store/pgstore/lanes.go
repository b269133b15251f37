package pgstore

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

// head is the first task of a lane in a shard.
type head struct {
	task.Entry
	shard int16
}

// readHeads finds the lanes by one look at the index for each.
const readHeads = `
WITH RECURSIVE h AS (
	SELECT n.* FROM shard s, LATERAL (
		SELECT shard, lane, look, key, record FROM task WHERE shard = s.n AND lane IS NOT NULL ORDER BY shard, lane, look, key LIMIT 1) n
	WHERE $1::smallint[] IS NULL OR s.n = ANY($1)
	UNION ALL
	SELECT n.* FROM h, LATERAL (
		SELECT shard, lane, look, key, record FROM task WHERE shard = h.shard AND lane > h.lane ORDER BY shard, lane, look, key LIMIT 1) n
) SELECT shard, look, key, record FROM h`

// heads returns the first tasks of the lanes in shards, nil for all, waiting or running.
func (s *Store) heads(ctx context.Context, shards []int16) ([]head, error) {
	return transact(ctx, s, func(row pgx.CollectableRow) (h head, err error) {
		var key string
		var data []byte
		if err := row.Scan(&h.shard, &h.Due, &key, &data); err != nil {
			return h, err
		}
		var f found
		if f.decode(key, data, nil); f.err == nil {
			h.Name, h.Lane = f.task.Name, f.task.Lane()
		}
		return h, f.err
	}, change{how: unsynced, sql: readHeads, args: []any{shards}})
}

// added notes new entries of lanes, and notifies the owners of other shards.
func (s *Store) added(entries []task.Entry) {
	for _, e := range s.member.Added(entries) {
		if e.Due < s.now()+soon {
			s.notify("news")
		}
	}
}

// soon is the time, in milliseconds, within which a task must be due for its owner to be
// notified. The owner's poll finds later tasks early enough.
const soon = 2000

// LanePages implements store.DispatchStore for the shards that this node owns.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	return store.Call(ctx, &s.calls, func() ([]store.LanePage, error) { return lowwater.Pages(s.member.Marks(), until, reads), nil })
}

// Peek implements store.DispatchStore for the shards that this node owns.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return store.Call(ctx, &s.calls, func() ([][]task.Entry, error) {
		return s.member.Lowwater.Peek(ctx, s.member.Marks(), reads, s.readLanes, func(int, task.Lane) {})
	})
}

// readLanes reads parts of lanes, and the first task after each part, which shows
// where the lane goes on.
const readLanes = `
SELECT u.ord, t.look, t.key FROM unnest($1::int[], $2::smallint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::int[]) u(ord, shard, lane, look, key, until, most),
LATERAL (
	(SELECT look, key FROM task WHERE shard = u.shard AND lane = u.lane AND (look, key) > (u.look, u.key COLLATE "C") AND look <= u.until AND NOT running
	ORDER BY shard, lane, look, key LIMIT u.most)
	UNION ALL
	(SELECT look, key FROM task WHERE shard = u.shard AND lane = u.lane AND (look, key) > (u.look, u.key COLLATE "C") AND look > u.until AND NOT running
	ORDER BY shard, lane, look, key LIMIT 1)
) t ORDER BY u.ord, t.look, t.key COLLATE "C"`

// readLanes returns the waiting tasks of each read, in their order, where a place
// without a name is before all tasks that are due then.
func (s *Store) readLanes(ctx context.Context, reads []lowwater.Read) ([][]task.Entry, error) {
	found := make([][]task.Entry, len(reads))
	if len(reads) == 0 {
		return found, nil
	}
	n := len(reads)
	ord, shard, lane, look, key, until, most := make([]int32, n), make([]int16, n), make([]int64, n), make([]int64, n), make([]string, n), make([]int64, n), make([]int32, n)
	for i, r := range reads {
		ord[i], shard[i], lane[i], look[i], until[i], most[i] = int32(i), int16(r.Part), laneOf(r.Lane), int64(r.After.Due), int64(r.Until), int32(min(r.Limit, 1<<30))
		key[i] = r.Lane.Namespace + "/" + r.After.Name
	}
	_, err := query(ctx, s, func(row pgx.CollectableRow) (none struct{}, err error) {
		var at int
		var due int64
		var key string
		if err = row.Scan(&at, &due, &key); err == nil && len(found[at]) < reads[at].Limit {
			lane := reads[at].Lane
			found[at] = append(found[at], task.Entry{Name: strings.TrimPrefix(key, lane.Namespace+"/"), Lane: lane, Due: task.Millis(due)})
		}
		return none, err
	}, readLanes, ord, shard, lane, look, key, until, most)
	return found, err
}
