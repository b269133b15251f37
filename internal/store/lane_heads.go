package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// Lanes is the part of a DispatchStore that names lanes.
type Lanes interface {
	LanePages(ctx context.Context, until task.Millis, reads []LanePageRead) ([]LanePage, error)
}

// Namespaces returns the namespaces that have, or may have, a scheduled task, in no
// order.
func Namespaces(ctx context.Context, s Lanes, until task.Millis) ([]string, error) {
	pages, err := s.LanePages(ctx, until, []LanePageRead{{}})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(pages[0].Heads))
	for i, h := range pages[0].Heads {
		names[i] = h.Lane.Namespace
	}
	return names, nil
}

// NamespacePage returns the page that names namespaces.
func NamespacePage(names []string) LanePage {
	p := LanePage{Last: true, Heads: make([]task.LaneHead, len(names))}
	for i, name := range names {
		p.Heads[i].Lane.Namespace = name
	}
	return p
}

// LaneHeads returns the lanes of all namespaces that have, or may have, a scheduled
// task due at or before until, the earliest first, in O(lanes).
func LaneHeads(ctx context.Context, s Lanes, until task.Millis) ([]task.LaneHead, error) {
	namespaces, err := Namespaces(ctx, s, until)
	if err != nil {
		return nil, err
	}
	reads := make([]LanePageRead, len(namespaces))
	for i, n := range namespaces {
		reads[i] = LanePageRead{Namespace: n, Limit: 4096}
	}
	first := map[task.Lane]task.Millis{}
	for len(reads) > 0 {
		pages, err := s.LanePages(ctx, until, reads)
		if err != nil {
			return nil, err
		}
		more := reads[:0]
		for i, p := range pages {
			for _, h := range p.Heads {
				if due, ok := first[h.Lane]; !ok || h.Due < due {
					first[h.Lane] = h.Due
				}
			}
			if r := reads[i]; !p.Last {
				r.From = p.Next
				more = append(more, r)
			}
		}
		reads = more
	}
	heads := make([]task.LaneHead, 0, len(first))
	for lane, due := range first {
		heads = append(heads, task.LaneHead{Lane: lane, Due: due})
	}
	slices.SortFunc(heads, func(a, b task.LaneHead) int { return cmp.Compare(a.Due, b.Due) })
	return heads, nil
}
