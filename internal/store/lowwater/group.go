package lowwater

import (
	"slices"
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// Group is the sets of an index that has many parts, and knows the sets that
// have a lane. Most lanes are in few parts, so a read of all sets would look
// into hundreds of maps to find one entry. All methods can be called by many
// goroutines.
type Group struct {
	mu   sync.Mutex // guards sets; taken while a set's lock is held
	sets map[task.Lane][]*Set
}

// NewGroup returns a group without sets.
func NewGroup() *Group { return &Group{sets: make(map[task.Lane][]*Set)} }

// New returns the marks of a part. If the part has entries, the rule of
// the function New holds.
func (g *Group) New(part int) *Set {
	s := New()
	s.Part, s.group = part, g
	return s
}

// Having returns the sets that have a lane, in no order.
func (g *Group) Having(key task.Lane) []*Set {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sets[key])
}

// Leave takes s out of its group: Having does not return it any more.
func (s *Set) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.m {
		s.group.remove(key, s)
	}
	s.group = nil
}

func (g *Group) add(key task.Lane, s *Set) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sets[key] = append(g.sets[key], s)
}

func (g *Group) remove(key task.Lane, s *Set) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	left := slices.DeleteFunc(g.sets[key], func(other *Set) bool { return other == s })
	if len(left) == 0 {
		delete(g.sets, key)
		return
	}
	g.sets[key] = left
}
