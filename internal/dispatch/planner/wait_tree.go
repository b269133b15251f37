package planner

import "math"

// needs says, for each class of receiver, how many slots have to be left to
// that class before an attempt may start: one more than the number. Of what
// needs any one of them, the one that is left is enough.
//
// Behind the classes stands share: an attempt may also start while its queue has
// less than its share. There the number is how many the queue has running.
type needs [classes + 1]int32

const share = classes

// never is what needs more slots than there can be.
const never = math.MaxInt32

var nobody = needs{never, never, never, never}

func (n needs) fit(left needs) bool {
	return n[proven] < left[proven] || n[unknown] < left[unknown] || n[suspect] < left[suspect] || n[share] < left[share]
}

func (n needs) least(m needs) needs {
	return needs{
		min(n[proven], m[proven]), min(n[unknown], m[unknown]), min(n[suspect], m[suspect]), min(n[share], m[share]),
	}
}

// seat is a place in a row: a lane's, a queue's or a namespace's.
type seat[T any] struct {
	owner T
	order // valid while seated
	need  needs

	seated      bool
	weight      uint32   // random: the tree's shape comes from it
	all         needs    // the least of the subtree
	left, right *seat[T] // before and behind
}

// order is by rank, and among equals by who was served longest ago.
type order struct {
	rank   int64
	turn   uint64 // of the last pick, 0: none
	number uint64 // unique among those of one row
}

func (o order) before(p order) bool {
	if o.rank != p.rank {
		return o.rank < p.rank
	}
	if o.turn != p.turn {
		return o.turn < p.turn
	}
	return o.number < p.number
}

// row keeps seats in their order and finds the first one that may run. It is a
// treap: a search tree by order, a heap by weight, so that it is balanced
// whatever comes. Each step costs O(log n). A heap would not do: those that may
// not run would gather at its top, and all of them would be looked at for each
// pick; they are what hangs.
type row[T any] struct {
	root *seat[T]
	size int
}

// needs returns the least of all that are seated.
func (r *row[T]) needs() needs {
	if r.root == nil {
		return nobody
	}
	return r.root.all
}

// first returns the first of those that may run with so many slots left, nil
// for none.
func (r *row[T]) first(left needs) *seat[T] {
	s := r.root
	if s == nil || !s.all.fit(left) {
		return nil
	}
	for {
		switch {
		case s.left != nil && s.left.all.fit(left):
			s = s.left
		case s.need.fit(left):
			return s
		default:
			s = s.right // the subtree has one, and it is not left of here, nor here
		}
	}
}

// walk calls f for each owner in order, until it reports false.
func (r *row[T]) walk(f func(T) bool) { r.root.walk(f) }

func (s *seat[T]) walk(f func(T) bool) bool {
	return s == nil || s.left.walk(f) && f(s.owner) && s.right.walk(f)
}

// put seats s, or moves it to where it belongs now. What needs more than there
// can be is not seated.
func (r *row[T]) put(s *seat[T], o order, need needs) {
	if s.seated && s.order == o && s.need == need {
		return
	}
	if s.seated && s.order == o && need != nobody {
		s.need = need
		r.root.resum(s)
		return
	}
	r.remove(s)
	if need == nobody {
		return
	}
	if s.weight == 0 {
		s.weight = scatter(o.number)
	}
	s.order, s.need, s.seated = o, need, true
	r.root = r.root.insert(s)
	r.size++
}

func (r *row[T]) remove(s *seat[T]) {
	if s.seated {
		r.root = r.root.remove(s)
		r.size--
		s.seated, s.left, s.right = false, nil, nil
	}
}

// scatter makes numbers that follow one another look random, and never 0.
func scatter(n uint64) uint32 {
	n = (n ^ n>>30) * 0xBF58476D1CE4E5B9
	n = (n ^ n>>27) * 0x94D049BB133111EB
	return uint32(n>>32) | 1
}

func (s *seat[T]) sum() {
	s.all = s.need
	if s.left != nil {
		s.all = s.all.least(s.left.all)
	}
	if s.right != nil {
		s.all = s.all.least(s.right.all)
	}
}

// resum corrects the sums above m, whose need has changed.
func (s *seat[T]) resum(m *seat[T]) {
	if s != m {
		if m.before(s.order) {
			s.left.resum(m)
		} else {
			s.right.resum(m)
		}
	}
	s.sum()
}

func (s *seat[T]) insert(m *seat[T]) *seat[T] {
	if s == nil || m.weight > s.weight {
		m.left, m.right = s.split(m.order)
		m.sum()
		return m
	}
	if m.before(s.order) {
		s.left = s.left.insert(m)
	} else {
		s.right = s.right.insert(m)
	}
	s.sum()
	return s
}

// split parts the subtree into what comes before o and what comes behind it.
func (s *seat[T]) split(o order) (before, behind *seat[T]) {
	if s == nil {
		return nil, nil
	}
	if s.before(o) {
		s.right, behind = s.right.split(o)
		before = s
	} else {
		before, s.left = s.left.split(o)
		behind = s
	}
	s.sum()
	return before, behind
}

func (s *seat[T]) remove(m *seat[T]) *seat[T] {
	if s == m {
		return join(s.left, s.right)
	}
	if m.before(s.order) {
		s.left = s.left.remove(m)
	} else {
		s.right = s.right.remove(m)
	}
	s.sum()
	return s
}

// join is the inverse of split.
func join[T any](before, behind *seat[T]) *seat[T] {
	switch {
	case before == nil:
		return behind
	case behind == nil:
		return before
	case before.weight > behind.weight:
		before.right = join(before.right, behind)
		before.sum()
		return before
	}
	behind.left = join(before, behind.left)
	behind.sum()
	return behind
}
