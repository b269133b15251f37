package lanes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
	"github.com/foliot/foliot/internal/task"
)

// namespaces returns the namespaces that have lanes in owned shards.
func (x *Index) namespaces() []string {
	names := map[string]struct{}{}
	for _, h := range x.own.Owned() {
		for _, name := range h.Lowwater.Namespaces() {
			names[name] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(names))
}

// Pages returns a page of lanes for each of reads.
func (x *Index) Pages(until task.Millis, reads []store.LanePageRead) []store.LanePage {
	owned := x.own.Owned()
	pages := make([]store.LanePage, len(reads))
	for i, r := range reads {
		if r.Namespace == "" {
			pages[i] = store.NamespacePage(x.namespaces())
		} else {
			pages[i] = pageOf(owned, until, r)
		}
	}
	return pages
}

func pageOf(owned []*registry.OwnedShard, until task.Millis, r store.LanePageRead) (p store.LanePage) {
	left := r.From.Left
	for _, h := range owned {
		if h.Number < r.From.Shard {
			continue
		}
		if h.Number > r.From.Shard {
			left = 0 // the shard of the cursor is finished, or belongs to another node by now
		}
		if len(p.Heads) >= r.Limit {
			p.Next = store.LaneCursor{Shard: h.Number}
			return p
		}
		if p.Heads, left = h.Lowwater.Page(p.Heads, r.Namespace, until, left, r.Limit); left > 0 {
			p.Next = store.LaneCursor{Shard: h.Number, Left: left}
			return p
		}
	}
	p.Last = true
	return p
}

// Peek returns the first entries of lanes, for each of reads.
func (x *Index) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	all, owned := make([]*merge, len(reads)), make(map[*lowwater.Set]*registry.OwnedShard, len(x.shards))
	for _, h := range x.own.Owned() {
		owned[h.Lowwater] = h
	}
	for i, r := range reads {
		all[i] = x.begin(owned, r)
	}
	defer func() {
		for _, m := range all {
			x.end(m)
		}
	}()
	for more := true; more; {
		var open []*strand
		for _, m := range all {
			open = append(open, m.open()...)
		}
		if err := x.extend(ctx, open); err != nil {
			return nil, err
		}
		more = len(open) > 0
	}
	found := make([][]task.Entry, len(reads))
	for i, m := range all {
		found[i] = m.entries()
	}
	return found, nil
}

// strand is the contribution of one shard to a read of a lane.
type strand struct {
	read     *merge
	shard    *keyspace.Shard
	lowwater *lowwater.Set
	from     task.Position // exclusive; or the lower bound of the whole strand
	low      task.Position // the mark when the read began
	atMark   bool          // the strand begins at the mark
	entries  []task.Entry
	more     bool           // more entries can follow the last one
	asked    bool           // the server was read
	beyond   *task.Position // the first entry after the read's end; nil means that none is known
}

// merge is a read of one lane from all shards.
type merge struct {
	store.LaneRead
	strands []*strand
}

// begin prepares the read of a lane in every shard that can contain entries of
// the lane.
func (x *Index) begin(owned map[*lowwater.Set]*registry.OwnedShard, r store.LaneRead) *merge {
	m := &merge{LaneRead: r}
	if r.Limit <= 0 {
		return m
	}
	for _, set := range x.own.Lowwater.Having(r.Lane) {
		h := owned[set]
		if h == nil {
			continue
		}
		low, ok := set.Begin(r.Lane)
		if !ok {
			continue
		}
		st := &strand{read: m, shard: h.Shard, lowwater: set, from: r.After, low: low, atMark: r.After.Less(low), more: low.Due <= r.Until}
		if st.atMark {
			st.from = task.Position{Due: low.Due}
		}
		m.strands = append(m.strands, st)
	}
	return m
}

// open returns the strands that must be read further before the read is complete:
// those that may have an entry before the first m.Limit ones.
func (m *merge) open() (open []*strand) {
	var end task.Position // all strands are complete up to it
	for _, st := range m.strands {
		if last := st.next(); st.more {
			if len(open) == 0 || last.Less(end) {
				end = last
			}
			open = append(open, st)
		}
	}
	ready := 0
	for _, st := range m.strands {
		for _, e := range st.entries {
			if !end.Less(e.Position()) {
				ready++
			}
		}
	}
	if ready >= m.Limit {
		return nil
	}
	return open
}

func (m *merge) entries() (all []task.Entry) {
	for _, st := range m.strands {
		all = append(all, st.entries...)
	}
	slices.SortFunc(all, func(a, b task.Entry) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), m.Limit)]
}

// end passes the results of the read to the marks.
func (x *Index) end(m *merge) {
	for _, st := range m.strands {
		f := lowwater.Finding{Conclusive: st.atMark && st.asked}
		switch {
		case len(st.entries) > 0:
			f.Head = st.entries[0].Position()
		case st.beyond != nil:
			f.Head = *st.beyond
		default:
			f.Empty = true
		}
		st.lowwater.End(m.Lane, f)
		if f.Conclusive && (f.Empty || st.low.Due < f.Head.Due) {
			x.bounds.add(st.shard, m.Lane)
		}
	}
}

func (x *Index) extend(ctx context.Context, strands []*strand) error {
	reads := make([]Read, len(strands))
	for i, st := range strands {
		reads[i] = Read{st.shard, store.LaneRead{Lane: st.read.Lane, After: st.next(), Until: st.read.Until, Limit: st.share()}}
	}
	found, err := x.Read(ctx, reads)
	for i, entries := range found {
		strands[i].take(entries)
	}
	return err
}

// Read requests a part of a lane in one shard, where an After without a name is
// inclusive.
type Read struct {
	Shard *keyspace.Shard
	store.LaneRead
}

// Read returns the entries of each of reads. The last entry of one can be after its
// end, which shows that there are more.
func (x *Index) Read(ctx context.Context, reads []Read) ([][]task.Entry, error) {
	groups, places := redisconn.Group(x.servers.Cluster, reads, func(r Read) *keyspace.Shard { return r.Shard })
	runs := make([]redisconn.Run, len(groups))
	for i, g := range groups {
		for _, r := range g {
			runs[i].Keys = append(runs[i].Keys, r.Shard.Due(keyspace.LaneMember(r.Lane)))
			runs[i].Args = append(runs[i].Args, redisconn.Score(r.After.Due), r.After.Name, redisconn.Score(r.Until), strconv.Itoa(r.Limit))
		}
	}
	results, err := redisconn.ReadRuns(ctx, x.servers, ScoreLists, peeking, runs...)
	if err != nil {
		return nil, err
	}
	all := make([][]task.Entry, len(reads))
	for i, lists := range results {
		for n, at := range places[i] {
			all[at] = make([]task.Entry, len(lists[n]))
			for k, z := range lists[n] {
				all[at][k] = task.Entry{Name: z.Member, Lane: reads[at].Lane, Due: task.Millis(z.Score)}
			}
		}
	}
	return all, nil
}

// share returns how many entries one shard is asked for at a time: somewhat
// more than an even share.
func (st *strand) share() int {
	return min(st.read.Limit, 8+2*st.read.Limit/len(st.read.strands))
}

// next returns a position before all unread entries.
func (st *strand) next() task.Position {
	if n := len(st.entries); n > 0 {
		return st.entries[n-1].Position()
	}
	return st.from
}

func (st *strand) take(entries []task.Entry) {
	st.asked, st.more = true, len(entries) == st.share()
	if n := len(entries); n > 0 && entries[n-1].Due > st.read.Until {
		p := entries[n-1].Position()
		st.beyond, st.more, entries = &p, false, entries[:n-1]
	}
	st.entries = append(st.entries, entries...)
}
