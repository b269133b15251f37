package kernel

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
)

// merge returns the places of many ranges in one order. When merge needs the next place
// of a range, it reads that range, and in the same call the ranges that it probably needs
// soon.
type merge struct {
	r      Reader
	batch  int // the largest number of ranges that are read in a call
	length int // the number of leading bytes by which places are compared
	open   sources
}

// source is the rest of a range.
type source struct {
	Range           // to be read
	places []string // read, and not returned yet
	more   bool     // Range may have more places
}

// low returns the next place, or a bound that is not after it.
func (s *source) low() string {
	if len(s.places) > 0 {
		return s.places[0]
	}
	return s.From
}

// newMerge returns a merge of ranges, and need is about how many places the caller will
// take.
func newMerge(r Reader, ranges []Range, batch, length, need int) *merge {
	m := &merge{r: r, batch: batch, length: length, open: sources{length: length}}
	all := make([]source, len(ranges))
	m.open.list = make([]*source, len(ranges))
	for i, in := range ranges {
		in.Limit = min(4+2*need/len(ranges), need)
		all[i] = source{Range: in, more: true}
		m.open.list[i] = &all[i]
	}
	heap.Init(&m.open)
	return m
}

// next returns the next place and its source, or nil if no place up to last is left. An
// empty last is no bound, and need is how many places the caller still wants.
func (m *merge) next(ctx context.Context, need int, last string) (*source, string, error) {
	for len(m.open.list) > 0 {
		s := m.open.list[0]
		switch {
		case last != "" && m.prefix(s.low()) > last:
			return nil, "", nil
		case len(s.places) > 0:
			place := s.places[0]
			s.places = s.places[1:]
			m.fix(s)
			return s, place, nil
		}
		if err := m.read(ctx, m.toRead(need, last)); err != nil {
			return nil, "", err
		}
	}
	return nil, "", nil
}

func (m *merge) prefix(place string) string { return place[:min(m.length, len(place))] }

// fix moves the first source to its place.
func (m *merge) fix(s *source) {
	if len(s.places) == 0 && !s.more {
		heap.Pop(&m.open)
		return
	}
	heap.Fix(&m.open, 0)
}

// toRead returns the sources to read next: the first one, and those that can have one of
// the next need places, up to last.
func (m *merge) toRead(need int, last string) []*source {
	if m.batch == 1 {
		return m.open.list[:1]
	}
	var known []string
	for _, s := range m.open.list {
		for _, place := range s.places {
			known = append(known, m.prefix(place))
		}
	}
	if len(known) >= need {
		slices.Sort(known)
		last = known[need-1]
	}
	var open []*source
	for _, s := range m.open.list {
		if s.more && (last == "" || m.prefix(s.From) <= last) {
			open = append(open, s)
		}
	}
	if len(open) > m.batch {
		slices.SortStableFunc(open, func(a, b *source) int { return cmp.Compare(m.prefix(a.From), m.prefix(b.From)) })
		open = open[:m.batch]
	}
	return open
}

func (m *merge) read(ctx context.Context, list []*source) error {
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
	m.open.list = slices.DeleteFunc(m.open.list, func(s *source) bool { return len(s.places) == 0 && !s.more })
	heap.Init(&m.open)
	return nil
}

// maxChunk bounds how many places are read from a range at once, unless a page is longer.
const maxChunk = 1024

// sources is a heap of sources by the next place. If two have the same one, a source
// whose place was read comes before one that must be read first.
type sources struct {
	list   []*source
	length int
}

func (s *sources) Len() int { return len(s.list) }

func (s *sources) Less(i, j int) bool {
	a, b := s.list[i].low(), s.list[j].low()
	a, b = a[:min(s.length, len(a))], b[:min(s.length, len(b))]
	if a != b {
		return a < b
	}
	return len(s.list[i].places) > 0 && len(s.list[j].places) == 0
}

func (s *sources) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }
func (s *sources) Push(any)      { panic("unused") }

func (s *sources) Pop() any {
	last := len(s.list) - 1
	s.list[last], s.list = nil, s.list[:last]
	return nil
}
