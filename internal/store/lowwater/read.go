package lowwater

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Pages returns a page of lanes for each of reads, from sets in the order of their parts:
// see store.DispatchStore. A cursor consists of a part and a place among the namespace's
// lanes there.
func Pages(sets []*Set, until task.Millis, reads []store.LanePageRead) []store.LanePage {
	pages := make([]store.LanePage, len(reads))
	for i, r := range reads {
		if r.Namespace != "" {
			pages[i] = pageOf(sets, until, r)
			continue
		}
		names := map[string]struct{}{}
		for _, s := range sets {
			for _, name := range s.Namespaces() {
				names[name] = struct{}{}
			}
		}
		pages[i] = store.NamespacePage(slices.Collect(maps.Keys(names)))
	}
	return pages
}

func pageOf(sets []*Set, until task.Millis, r store.LanePageRead) (p store.LanePage) {
	for _, s := range sets {
		if s.Part < r.From.Shard {
			continue
		}
		if p.Next.Shard = s.Part; s.Part == r.From.Shard { // else that part is finished, or another node owns it
			p.Next.Left = r.From.Left
		}
		if len(p.Heads) >= r.Limit {
			return p
		}
		if p.Heads, p.Next.Left = s.Page(p.Heads, r.Namespace, until, p.Next.Left, r.Limit); p.Next.Left > 0 {
			return p
		}
	}
	p.Last = true
	return p
}

// Read requests a part of a lane in one part of the index, where an After without a name
// is inclusive.
type Read struct {
	Part int
	store.LaneRead
}

// Peek returns the first entries of lanes, for each of reads, from those of sets that
// have the lane. read returns the entries of each Read, of which the last one can be
// after its end, which shows that there are more. above is called if all entries of a
// lane in a part are later than the mark was.
func (g *Group) Peek(ctx context.Context, sets []*Set, reads []store.LaneRead, read func(context.Context, []Read) ([][]task.Entry, error), above func(part int, lane task.Lane)) ([][]task.Entry, error) {
	all, wanted := make([]*merge, len(reads)), make(map[*Set]bool, len(sets))
	for _, s := range sets {
		wanted[s] = true
	}
	for i, r := range reads {
		all[i] = g.begin(wanted, r)
	}
	defer func() {
		for _, m := range all {
			m.end(above)
		}
	}()
	for {
		var open []*strand
		for _, m := range all {
			open = append(open, m.open()...)
		}
		if len(open) == 0 {
			break
		}
		parts := make([]Read, len(open))
		for i, st := range open {
			parts[i] = Read{st.set.Part, store.LaneRead{Lane: st.read.Lane, After: st.next(), Until: st.read.Until, Limit: st.share()}}
		}
		entries, err := read(ctx, parts)
		if err != nil {
			return nil, err
		}
		for i, st := range open {
			st.take(entries[i])
		}
	}
	found := make([][]task.Entry, len(reads))
	for i, m := range all {
		found[i] = m.entries()
	}
	return found, nil
}

// strand is the contribution of one part to a read of a lane.
type strand struct {
	read    *merge
	set     *Set
	from    task.Position // exclusive; or the lower bound of the whole strand
	atMark  bool          // the strand begins at the mark, whose due time is that of from
	entries []task.Entry
	more    bool           // more entries can follow the last one
	asked   bool           // the part was read
	beyond  *task.Position // the first entry after the read's end; nil means that none is known
}

// merge is a read of one lane from all parts.
type merge struct {
	store.LaneRead
	strands []*strand
}

// begin prepares the read of a lane in every part that can contain entries of
// the lane.
func (g *Group) begin(wanted map[*Set]bool, r store.LaneRead) *merge {
	m := &merge{LaneRead: r}
	for _, set := range g.Having(r.Lane) {
		if !wanted[set] || r.Limit <= 0 {
			continue
		}
		low, ok := set.Begin(r.Lane)
		if !ok {
			continue
		}
		st := &strand{read: m, set: set, from: r.After, atMark: r.After.Less(low), more: low.Due <= r.Until}
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
func (m *merge) end(above func(part int, lane task.Lane)) {
	for _, st := range m.strands {
		f := Finding{Conclusive: st.atMark && st.asked}
		switch {
		case len(st.entries) > 0:
			f.Head = st.entries[0].Position()
		case st.beyond != nil:
			f.Head = *st.beyond
		default:
			f.Empty = true
		}
		st.set.End(m.Lane, f)
		if f.Conclusive && (f.Empty || st.from.Due < f.Head.Due) {
			above(st.set.Part, m.Lane)
		}
	}
}

// share returns how many entries one part is asked for at a time: somewhat
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
