package lowwater

import (
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// Set holds the low-water marks of an index's lanes, in memory. All methods can
// be called by many goroutines, and none blocks. New makes a Set.
//
// A mark must never be too high, or a task stays scheduled and never fires. Two
// rules ensure that:
//
//   - The index's writer calls Added after a batch is applied and before its
//     reply. Added lowers the mark to the new entry if the mark is higher.
//   - A read, from Begin to End, raises the mark to the first entry found, or to
//     the lowest entry added since the read began, whichever is lower. An entry
//     added before the read began is visible to the read, as it was applied
//     before.
//
// Without the second half of the second rule an entry is lost: the read takes
// its snapshot, the writer applies an entry and finds the mark low enough, and
// the read raises the mark over the entry.
type Set struct {
	Part int // of the index, if s is in a Group; immutable

	mu sync.Mutex // guards everything below
	m  map[task.Lane]*lane

	// namespaces has the same lanes by namespace, in no order. A lane that goes
	// leaves its place to the last one: see Page.
	namespaces map[string][]*lane

	group *Group // the group of s, or nil
}

type lane struct {
	key task.Lane
	at  int // its position among the lanes of its namespace

	low   task.Position // no entry is below this
	reads int           // reads that have begun and not ended

	// lowest is the lowest entry added since the oldest of these reads began,
	// valid if added.
	lowest task.Position
	added  bool
}

// New returns the marks of an empty index. If the index is not empty, pass the
// first entry of each lane to Added before the first read.
func New() *Set {
	return &Set{m: make(map[task.Lane]*lane), namespaces: make(map[string][]*lane)}
}

// Added records entries that were applied to the index.
func (s *Set) Added(entries []task.Entry) {
	if len(entries) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		s.addLocked(e.Lane, e.Position())
	}
}

func (s *Set) addLocked(key task.Lane, p task.Position) {
	l := s.m[key]
	if l == nil {
		l = &lane{key: key, at: len(s.namespaces[key.Namespace]), low: p}
		s.m[key] = l
		s.namespaces[key.Namespace] = append(s.namespaces[key.Namespace], l)
		s.group.add(key, s)
		return
	}
	if p.Less(l.low) {
		l.low = p
	}
	if l.reads > 0 && (!l.added || p.Less(l.lowest)) {
		l.lowest, l.added = p, true
	}
}

// Begin starts a read of a lane and returns the lane's mark, where the read
// must begin. It returns false if the lane has no entries. If it returns true,
// the read must take its snapshot afterwards, and must call End when it is
// over.
func (s *Set) Begin(key task.Lane) (low task.Position, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.m[key]
	if l == nil {
		return task.Position{}, false
	}
	l.reads++
	return l.low, true
}

// Finding is the result of a read of a lane's head. The zero Finding, also the
// one of a failed read, has no effect.
type Finding struct {
	Conclusive bool          // the read began at the mark
	Empty      bool          // and found no entry
	Head       task.Position // or found this one first
}

// End ends a read that Begin announced, and forgets a lane that was found
// empty.
func (s *Set) End(key task.Lane, f Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.m[key] // not nil: only the last of its reads removes it
	l.reads--
	if f.Conclusive {
		l.raise(f)
		if f.Empty && !l.added && l.reads == 0 {
			s.removeLocked(l)
			return
		}
	}
	if l.reads == 0 {
		l.added = false
	}
}

func (s *Set) removeLocked(l *lane) {
	delete(s.m, l.key)
	s.group.remove(l.key, s)
	lanes := s.namespaces[l.key.Namespace]
	last := len(lanes) - 1
	if last == 0 {
		delete(s.namespaces, l.key.Namespace)
		return
	}
	lanes[l.at], lanes[last].at = lanes[last], l.at
	lanes[last] = nil
	s.namespaces[l.key.Namespace] = lanes[:last]
}

func (l *lane) raise(f Finding) {
	head := f.Head
	switch {
	case f.Empty && !l.added:
		return
	case f.Empty, l.added && l.lowest.Less(head):
		head = l.lowest
	}
	if l.low.Less(head) {
		l.low = head
	}
}

// Namespaces returns the namespaces that have lanes, in no order.
func (s *Set) Namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]string, 0, len(s.namespaces))
	for name := range s.namespaces {
		all = append(all, name)
	}
	return all
}

// Page examines at most limit lanes of a namespace, and appends to heads those
// that may have an entry due at or before until. left is the result of the page
// before, or 0 for the first page, and Page returns 0 if it was the last one.
//
// Pages go from the last lane to the first. When a lane is removed, the last
// one takes its place, which was in an earlier page, so no lane is left out.
func (s *Set) Page(heads []task.LaneHead, namespace string, until task.Millis, left, limit int) ([]task.LaneHead, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := s.namespaces[namespace]
	if left == 0 || left > len(lanes) {
		left = len(lanes)
	}
	for ; left > 0 && limit > 0; limit-- {
		left--
		if l := lanes[left]; l.low.Due <= until {
			heads = append(heads, task.LaneHead{Lane: l.key, Due: l.low.Due})
		}
	}
	return heads, left
}

// Covers reports whether a read would find e: whether its lane's mark is not
// above e.
func (s *Set) Covers(e task.Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.m[e.Lane]
	return l != nil && !e.Position().Less(l.low)
}
