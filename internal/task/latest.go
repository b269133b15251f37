package task

import (
	"cmp"
	"container/heap"
	"slices"
)

// Ended is the reply to a search for the tasks that ended last.
type Ended struct {
	Tasks []*Task // the latest end first; those that ended at the same time by name
	More  bool    // more tasks match, or may match

	// Since is not 0 if too many records had to be examined. Then tasks that ended
	// at or before Since can be missing.
	Since Millis
}

// Latest collects the tasks that ended last among those that are added, in any
// order. It keeps at most limit of them, and ends early like a page of a
// Listing when their weight is above MaxPageBytes.
type Latest struct {
	limit   int
	kept    endedHeap
	weight  int
	dropped *Task // the latest task that was left out; nil means none
}

// NewLatest returns an empty collection.
func NewLatest(limit int) *Latest { return &Latest{limit: limit} }

// Add adds a task that has ended.
func (l *Latest) Add(t *Task) {
	if l.dropped != nil && compareEnds(t, l.dropped) > 0 {
		return
	}
	heap.Push(&l.kept, t)
	l.weight += t.Weight()
	for len(l.kept) > l.limit || l.weight > MaxPageBytes && len(l.kept) > 1 {
		l.dropped = heap.Pop(&l.kept).(*Task)
		l.weight -= l.dropped.Weight()
	}
}

// Excludes reports whether no task that ended at or before end can be among the
// latest ones.
func (l *Latest) Excludes(end Millis) bool {
	return l.dropped != nil && end < l.dropped.FinishedAt || len(l.kept) == l.limit && end < l.kept[0].FinishedAt
}

// Result returns the tasks. unseen is set if tasks were not added because l
// Excludes them.
func (l *Latest) Result(unseen bool) Ended {
	slices.SortFunc(l.kept, compareEnds)
	return Ended{Tasks: l.kept, More: unseen || l.dropped != nil}
}

// compareEnds orders tasks by their ends, the latest first, and then by name.
func compareEnds(a, b *Task) int {
	return cmp.Or(cmp.Compare(b.FinishedAt, a.FinishedAt), cmp.Compare(a.Name, b.Name))
}

// endedHeap has the task with the earliest end first.
type endedHeap []*Task

func (h endedHeap) Len() int           { return len(h) }
func (h endedHeap) Less(i, j int) bool { return compareEnds(h[i], h[j]) > 0 }
func (h endedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endedHeap) Push(t any)        { *h = append(*h, t.(*Task)) }

func (h *endedHeap) Pop() any {
	old := *h
	last := len(old) - 1
	t := old[last]
	old[last], *h = nil, old[:last]
	return t
}
