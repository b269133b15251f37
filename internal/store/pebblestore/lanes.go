package pebblestore

import (
	"cmp"
	"slices"
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// lanes is what is kept in memory of the due index: for each lane a low-water
// mark, below which the lane has no entry.
//
// A queue's index is deleted from its head. In an LSM tree the deleted entries
// stay as tombstones until a compaction meets them, and a seek to the head
// steps over each: 28–58 ms after a million, against microseconds from a mark
// that lies behind them. So nobody ever seeks to a lane's start.
//
// The mark must never be too high, or a task sits scheduled and never fires.
// Two rules keep it so:
//
//   - The committer calls added after a batch is applied, and before it is
//     answered: the mark is lowered to the entry where it is higher.
//   - A read raises the mark to the first entry that it found, or to the lowest
//     that was added since the read began, whichever is lower. An entry added
//     before the read began is in what the read sees, as it was applied before.
//
// Without the second half of the second rule this loses an entry: the read
// takes its snapshot, the committer applies an entry and finds the mark low
// enough, the read raises the mark over it.
type lanes struct {
	mu sync.Mutex // guards everything below
	m  map[task.Lane]*lane
}

type lane struct {
	low   task.Position // no entry is below
	reads int           // that have begun and not ended

	// lowest is the lowest entry added since the oldest of these reads began,
	// valid if added.
	lowest task.Position
	added  bool
}

func newLanes() *lanes { return &lanes{m: make(map[task.Lane]*lane)} }

// added notes entries that were applied to the index.
func (ls *lanes) added(entries []task.Entry) {
	if len(entries) == 0 {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, e := range entries {
		ls.addLocked(e.Lane, e.Position())
	}
}

func (ls *lanes) addLocked(key task.Lane, p task.Position) {
	l := ls.m[key]
	if l == nil {
		ls.m[key] = &lane{low: p}
		return
	}
	if p.Less(l.low) {
		l.low = p
	}
	if l.reads > 0 && (!l.added || p.Less(l.lowest)) {
		l.lowest, l.added = p, true
	}
}

// begin announces a read of a lane and returns its mark; false where the lane
// has no entries. The read's snapshot must be taken afterwards, and end be
// called when it is over.
func (ls *lanes) begin(key task.Lane) (task.Position, bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.m[key]
	if l == nil {
		return task.Position{}, false
	}
	l.reads++
	return l.low, true
}

// finding is what a read learnt of its lane's head.
type finding struct {
	conclusive bool          // it began at the mark
	empty      bool          // and found no entry at all
	head       task.Position // or this one first
}

// end ends a read that begin announced.
func (ls *lanes) end(key task.Lane, f finding) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.m[key] // there: only the last of its reads removes it
	l.reads--
	if f.conclusive {
		l.raise(f)
		if f.empty && !l.added && l.reads == 0 {
			delete(ls.m, key)
			return
		}
	}
	if l.reads == 0 {
		l.added = false
	}
}

func (l *lane) raise(f finding) {
	head := f.head
	switch {
	case f.empty && !l.added:
		return
	case f.empty, l.added && l.lowest.Less(head):
		head = l.lowest
	}
	if l.low.Less(head) {
		l.low = head
	}
}

// heads returns the lanes that may have an entry due at or before until, the
// earliest first.
func (ls *lanes) heads(until task.Millis) []task.LaneHead {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var heads []task.LaneHead
	for key, l := range ls.m {
		if l.low.Due <= until {
			heads = append(heads, task.LaneHead{Lane: key, Due: l.low.Due})
		}
	}
	slices.SortFunc(heads, func(a, b task.LaneHead) int { return cmp.Compare(a.Due, b.Due) })
	return heads
}
