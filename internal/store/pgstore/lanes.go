package pgstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
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
	SELECT n.* FROM unnest($1::smallint[]) s(n), LATERAL (
		SELECT shard, lane, look, key, record FROM task WHERE shard = s.n AND lane IS NOT NULL ORDER BY shard, lane, look, key LIMIT 1) n
	UNION ALL
	SELECT n.* FROM h, LATERAL (
		SELECT shard, lane, look, key, record FROM task WHERE shard = h.shard AND lane > h.lane ORDER BY shard, lane, look, key LIMIT 1) n
) SELECT shard, look, key, record FROM h LIMIT $2`

// heads returns the first tasks, waiting or running, of at most limit lanes; -1
// means of all.
func (s *Store) heads(ctx context.Context, shards []int16, limit int) ([]head, error) {
	most := &limit
	if limit < 0 {
		most = nil
	}
	return query(ctx, s, func(row pgx.CollectableRow) (h head, err error) {
		var key string
		var look int64
		var data []byte
		if err := row.Scan(&h.shard, &look, &key, &data); err != nil {
			return h, err
		}
		k, err := parseKey(key)
		if err != nil {
			return h, err
		}
		t, err := codec.DecodeRecord(k, data)
		if err == nil {
			h.Entry = task.Entry{Name: k.Name, Lane: t.Lane(), Due: task.Millis(look)}
		}
		return h, err
	}, readHeads, shards, most)
}

// added notes new entries of lanes in owned shards, and calls the watcher with them.
func (s *Store) added(entries []task.Entry) {
	var ours []task.Entry
	for _, e := range entries {
		if h := s.shard(s.shardOf(e.Key())); h != nil {
			if e.Hint == task.Waits {
				h.lanes.Added([]task.Entry{e})
			}
			ours = append(ours, e)
		} else if e.Due < s.now()+soon {
			s.notify("news")
		}
	}
	s.hint(ours)
}

// soon is the time, in milliseconds, within which a task must be due for its owner to be
// notified. The owner's poll finds later tasks early enough.
const soon = 2000

func (s *Store) hint(entries []task.Entry) {
	if hint := s.Tasks(); hint != nil && len(entries) > 0 {
		hint(entries)
	}
}

// LanePages implements store.DispatchStore for the shards that this node owns.
func (s *Store) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	return call(ctx, s, func() ([]store.LanePage, error) {
		pages, owned := make([]store.LanePage, len(reads)), s.mine()
		for i, r := range reads {
			if r.Namespace == "" {
				pages[i] = store.NamespacePage(s.namespaces())
			} else {
				pages[i] = pageOf(owned, until, r)
			}
		}
		return pages, nil
	})
}

func pageOf(owned []*ownedShard, until task.Millis, r store.LanePageRead) (p store.LanePage) {
	left := r.From.Left
	for _, h := range owned {
		if h.Shard < r.From.Shard {
			continue
		}
		if h.Shard > r.From.Shard {
			left = 0 // the shard of the cursor is finished, or belongs to another node by now
		}
		if len(p.Heads) >= r.Limit {
			p.Next = store.LaneCursor{Shard: h.Shard}
			return p
		}
		if p.Heads, left = h.lanes.Page(p.Heads, r.Namespace, until, left, r.Limit); left > 0 {
			p.Next = store.LaneCursor{Shard: h.Shard, Left: left}
			return p
		}
	}
	p.Last = true
	return p
}

// laneRead requests a part of a lane in one shard, from a place on, inclusive.
type laneRead struct {
	shard int16
	lane  task.Lane
	from  task.Position
	until task.Millis
	limit int
}

// readLanes reads parts of lanes, and the first task after each part, which shows
// where the lane goes on.
const readLanes = `
SELECT u.ord, t.look, t.key FROM unnest($1::int[], $2::smallint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::int[]) u(ord, shard, lane, look, key, until, most),
LATERAL (
	(SELECT look, key FROM task WHERE shard = u.shard AND lane = u.lane AND (look, key) >= (u.look, u.key COLLATE "C") AND look <= u.until AND NOT running
	ORDER BY shard, lane, look, key LIMIT u.most)
	UNION ALL
	(SELECT look, key FROM task WHERE shard = u.shard AND lane = u.lane AND (look, key) >= (u.look, u.key COLLATE "C") AND look > u.until AND NOT running
	ORDER BY shard, lane, look, key LIMIT 1)
) t ORDER BY u.ord, t.look, t.key COLLATE "C"`

// readLanes returns the waiting tasks of each read, in their order.
func (s *Store) readLanes(ctx context.Context, reads []laneRead) ([][]task.Entry, error) {
	found := make([][]task.Entry, len(reads))
	if len(reads) == 0 {
		return found, nil
	}
	n := len(reads)
	ord, shard, lane, look, key, until, most := make([]int32, n), make([]int16, n), make([]int64, n), make([]int64, n), make([]string, n), make([]int64, n), make([]int32, n)
	for i, r := range reads {
		ord[i], shard[i], lane[i], look[i], key[i], until[i], most[i] = int32(i), r.shard, laneOf(r.lane), int64(r.from.Due), r.lane.Namespace+"/"+r.from.Name, int64(r.until), int32(min(r.limit, 1<<30))
	}
	_, err := query(ctx, s, func(row pgx.CollectableRow) (struct{}, error) {
		var at int
		var due int64
		var key string
		err := row.Scan(&at, &due, &key)
		lane := reads[at].lane
		found[at] = append(found[at], task.Entry{Name: strings.TrimPrefix(key, lane.Namespace+"/"), Lane: lane, Due: task.Millis(due)})
		return struct{}{}, err
	}, readLanes, ord, shard, lane, look, key, until, most)
	return found, err
}

// Peek implements store.DispatchStore.
func (s *Store) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return call(ctx, s, func() ([][]task.Entry, error) { return s.peek(ctx, reads) })
}

func (s *Store) peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	type strand struct {
		of     int
		set    *lowwater.Set
		atMark bool
		f      lowwater.Finding
	}
	numbers := map[*lowwater.Set]int16{}
	for _, h := range s.mine() {
		numbers[h.lanes] = h.number
	}
	var strands []strand
	var parts []laneRead
	defer func() {
		for _, st := range strands {
			st.set.End(reads[st.of].Lane, st.f)
		}
	}()
	for i, r := range reads {
		if r.Limit <= 0 {
			continue
		}
		for _, set := range s.owned.marks.Having(r.Lane) {
			number, owned := numbers[set]
			if !owned {
				continue
			}
			low, ok := set.Begin(r.Lane)
			if !ok {
				continue
			}
			from, atMark := task.Position{Due: r.After.Due, Name: r.After.Name + "\x01"}, false
			if r.After == (task.Position{}) || r.After.Less(low) {
				from, atMark = low, true
			}
			strands = append(strands, strand{of: i, set: set, atMark: atMark})
			parts = append(parts, laneRead{number, r.Lane, from, r.Until, r.Limit})
		}
	}
	found, err := s.readLanes(ctx, parts)
	if err != nil {
		return nil, err
	}
	all := make([][]task.Entry, len(reads))
	for i, entries := range found {
		st := &strands[i]
		st.f = lowwater.Finding{Conclusive: st.atMark, Empty: len(entries) == 0}
		for n, e := range entries {
			if n == 0 {
				st.f.Head = e.Position()
			}
			if e.Due <= reads[st.of].Until {
				all[st.of] = append(all[st.of], e)
			}
		}
	}
	for i, entries := range all {
		slices.SortFunc(entries, func(a, b task.Entry) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Name, b.Name)) })
		all[i] = entries[:min(len(entries), reads[i].Limit)]
	}
	return all, nil
}
