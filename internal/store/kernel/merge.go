package kernel

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
)

// merge returns the places of many ranges in one order. It reads a range when it
// needs its next place, and in the same call others that it is likely to need.
type merge struct {
	r      Reader
	batch  int // the largest number of ranges that are read in a call
	length int // places are ordered by so many first bytes
	open   strands
}

// strand is the rest of a range.
type strand struct {
	Range           // to be read
	places []string // read, and not returned yet
	more   bool     // Range may have more places
}

// low returns the next place, or a bound that is not after it.
func (s *strand) low() string {
	if len(s.places) > 0 {
		return s.places[0]
	}
	return s.From
}

// newMerge returns a merge of ranges of which about need places are necessary.
func newMerge(r Reader, ranges []Range, batch, length, need int) *merge {
	m := &merge{r: r, batch: batch, length: length, open: strands{length: length}}
	all := make([]strand, len(ranges))
	m.open.list = make([]*strand, len(ranges))
	for i, in := range ranges {
		in.Limit = min(4+2*need/len(ranges), need)
		all[i] = strand{Range: in, more: true}
		m.open.list[i] = &all[i]
	}
	heap.Init(&m.open)
	return m
}

// next returns the next place and its strand, or nil if there is none, for a caller
// that still needs need places.
func (m *merge) next(ctx context.Context, need int, last string) (*strand, string, error) {
	for len(m.open.list) > 0 {
		s := m.open.list[0]
		switch {
		case last != "" && m.first(s.low()) > last:
			return nil, "", nil
		case len(s.places) > 0:
			place := s.places[0]
			s.places = s.places[1:]
			m.fix(s)
			return s, place, nil
		}
		if err := m.read(ctx, m.unread(need, last)); err != nil {
			return nil, "", err
		}
	}
	return nil, "", nil
}

func (m *merge) first(place string) string { return place[:min(m.length, len(place))] }

// fix moves the first strand to its place.
func (m *merge) fix(s *strand) {
	if len(s.places) == 0 && !s.more {
		heap.Pop(&m.open)
		return
	}
	heap.Fix(&m.open, 0)
}

// unread returns the first strand, and those that may have places among the next
// ones, up to the first bytes last.
func (m *merge) unread(need int, last string) []*strand {
	if m.batch == 1 {
		return m.open.list[:1]
	}
	var known []string
	for _, s := range m.open.list {
		for _, place := range s.places {
			known = append(known, m.first(place))
		}
	}
	if len(known) >= need {
		slices.Sort(known)
		last = known[need-1]
	}
	var open []*strand
	for _, s := range m.open.list {
		if s.more && (last == "" || m.first(s.From) <= last) {
			open = append(open, s)
		}
	}
	if len(open) > m.batch {
		slices.SortStableFunc(open, func(a, b *strand) int { return cmp.Compare(m.first(a.From), m.first(b.From)) })
		open = open[:m.batch]
	}
	return open
}

// read reads the next places of strands.
func (m *merge) read(ctx context.Context, list []*strand) error {
	ranges := make([]Range, len(list))
	for i, s := range list {
		ranges[i] = s.Range
	}
	found, err := m.r.Scan(ctx, ranges)
	if err != nil {
		return err
	}
	for i, s := range list {
		places := found[i]
		s.more = len(places) == s.Limit
		if s.more {
			s.From = after(places[len(places)-1])
		}
		s.Limit = min(2*s.Limit, maxChunk)
		if len(s.places) > 0 {
			places = append(s.places, places...)
		}
		s.places = places
	}
	if len(list) == 1 && list[0] == m.open.list[0] {
		m.fix(list[0])
		return nil
	}
	m.open.list = slices.DeleteFunc(m.open.list, func(s *strand) bool { return len(s.places) == 0 && !s.more })
	heap.Init(&m.open)
	return nil
}

// maxChunk is the largest number of places that are read of a range at once, except
// for a longer page.
const maxChunk = 1024

// strands is a heap, in which the strand with the first place is the first. A place
// comes before a strand that must be read to know whether it has that place too.
type strands struct {
	list   []*strand
	length int
}

func (s *strands) Len() int { return len(s.list) }

func (s *strands) Less(i, j int) bool {
	a, b := s.list[i].low(), s.list[j].low()
	a, b = a[:min(s.length, len(a))], b[:min(s.length, len(b))]
	if a != b {
		return a < b
	}
	return len(s.list[i].places) > 0 && len(s.list[j].places) == 0
}

func (s *strands) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }
func (s *strands) Push(any)      { panic("unused") }

func (s *strands) Pop() any {
	last := len(s.list) - 1
	s.list[last], s.list = nil, s.list[:last]
	return nil
}
