package pgstore

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// head is the first task of a lane in a shard.
type head struct {
	task.Entry
	shard int16
	lane  int64
}

// readHeads finds the lanes by one look at the index for each.
const readHeads = `
WITH RECURSIVE h AS (
	SELECT n.* FROM foliot.shard s, LATERAL (
		SELECT shard, lane, look, key, record FROM foliot.task WHERE shard = s.n AND lane IS NOT NULL ORDER BY shard, lane, look, key LIMIT 1) n
	WHERE $1::smallint[] IS NULL OR s.n = ANY($1)
	UNION ALL
	SELECT n.* FROM h, LATERAL (
		SELECT shard, lane, look, key, record FROM foliot.task WHERE shard = h.shard AND lane > h.lane ORDER BY shard, lane, look, key LIMIT 1) n
) SELECT shard, lane, look, key, record FROM h WHERE look <= $2`

// heads returns the first task, waiting or running, of each lane in shards, nil for all,
// if it is due by until. A damaged record does not hide the others of its lane.
func (s *Store) heads(ctx context.Context, shards []int16, until task.Millis) ([]head, error) {
	all, err := transact(ctx, s, s.scanHead, change{how: unsynced, sql: readHeads, args: []any{shards, int64(until)}})
	sound := all[:0]
	for _, h := range all {
		if h.Name == "" {
			h, err = s.soundHead(ctx, h)
		}
		if err != nil {
			return nil, err
		}
		if h.Name != "" {
			sound = append(sound, h)
		}
	}
	return sound, err
}

// soundHead returns the first task of the lane of h whose record is not damaged, without a
// name if there is none among the first ones.
func (s *Store) soundHead(ctx context.Context, h head) (head, error) {
	const most = 1000
	all, err := query(ctx, s, s.scanHead, "SELECT shard, lane, look, key, record FROM foliot.task WHERE shard = $1 AND lane = $2 ORDER BY shard, lane, look, key LIMIT $3", h.shard, h.lane, most)
	for _, next := range all {
		if next.Name != "" {
			return next, err
		}
	}
	return h, err
}

// scanHead returns a head, without a name if its record is damaged.
func (s *Store) scanHead(row pgx.CollectableRow) (h head, err error) {
	var key string
	var data []byte
	if err := row.Scan(&h.shard, &h.lane, &h.Due, &key, &data); err != nil {
		return h, err
	}
	k, damaged := sqltask.ParseKey(key)
	if damaged == nil {
		var t *task.Task
		if t, damaged = codec.DecodeRecord(k, data); damaged == nil {
			h.Name, h.Lane = t.Name, t.Lane()
		}
	}
	if damaged != nil {
		s.failures.Note("read the first task of a lane", damaged, "task", key)
	}
	return h, nil
}

// added notes new entries of lanes, and notifies the owners of other shards.
func (s *Store) added(entries []task.Entry) {
	s.met.Drop(entries)
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

// readLanes reads parts of lanes, and the first task that is due after each part, which
// shows where the lane goes on. That scan has no place as a bound, because the index would
// begin there, and go through all tasks that are overdue.
var readLanes = `
SELECT u.ord - 1, t.look, t.key FROM ` + inputOf[part]() + `,
LATERAL (
	(SELECT look, key FROM foliot.task WHERE shard = u.shard AND lane = u.lane AND (look, key) > (u.look, u.key COLLATE "C") AND look <= u.until AND NOT running
	ORDER BY shard, lane, look, key LIMIT u.most)
	UNION ALL
	(SELECT look, key FROM foliot.task WHERE shard = u.shard AND lane = u.lane AND look > u.until AND NOT running
	ORDER BY shard, lane, look, key LIMIT 1)
) t ORDER BY u.ord, t.look, t.key COLLATE "C"`

// part is a part of a lane, after a place.
type part struct {
	Shard int16
	Lane  int64
	Look  int64
	Key   string
	Until int64
	Most  int32
}

// readLanes returns the waiting tasks of each read, in their order, where a place
// without a name is before all tasks that are due then.
func (s *Store) readLanes(ctx context.Context, reads []lowwater.Read) ([][]task.Entry, error) {
	found := make([][]task.Entry, len(reads))
	if len(reads) == 0 {
		return found, nil
	}
	rows := make([]part, len(reads))
	for i, r := range reads {
		rows[i] = part{int16(r.Part), sqltask.Lane(r.Lane), int64(r.After.Due), r.Lane.Namespace + "/" + r.After.Name, int64(r.Until), int32(min(r.Limit, 1<<30))}
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
	}, readLanes, columns(rows)...)
	return found, err
}
