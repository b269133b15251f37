package planner

import "math"

// cost is the condition under which an attempt can start. It holds a number of
// slots for each class of receivers. An attempt can start if at least one class
// has more free slots than its number, or if one of its kinds can run.
//
// The last number, share, allows a start while the queue has less than its
// share. It is the number of attempts that the queue has under way.
//
// A cost can also hold what is left: the free slots, and the kinds of which
// another handler can start. So a search skips all lanes of a kind that is at
// its limit, and its time does not depend on their number.
type cost struct {
	slots [share + 1]int32
	kinds uint64 // bits: see kind.bit
}

const share = suspect + 1

// never is more slots than there can be.
const never = math.MaxInt32

var neverFits = cost{slots: [share + 1]int32{never, never, never, never}}

// fit reports whether an attempt can start while left is left. fit and lower
// take pointers, because a copy of a cost takes longer than their work.
func (n *cost) fit(left *cost) bool {
	a, b := &n.slots, &left.slots
	return a[proven] < b[proven] || a[unknown] < b[unknown] || a[suspect] < b[suspect] || a[share] < b[share] || n.kinds&left.kinds != 0
}

// lower sets n to the smallest cost that fits if n or m fits.
func (n *cost) lower(m *cost) {
	for i := range n.slots {
		n.slots[i] = min(n.slots[i], m.slots[i])
	}
	n.kinds |= m.kinds
}

// node is the node of a lane, a queue or a namespace in a waitTree.
type node[T any] struct {
	owner T
	rank  // valid while inTree
	cost  cost

	inTree      bool
	weight      uint32   // random: it decides the shape of the tree
	minCost     cost     // the minimum of the subtree
	left, right *node[T] // the subtrees with smaller and larger ranks
}

// rank is the order of a tree: by since, then by the number of the last pick.
type rank struct {
	since    int64
	lastPick uint64 // number of the last pick; zero means none
	number   uint64 // unique in the tree
}

func (o rank) before(p rank) bool {
	if o.since != p.since {
		return o.since < p.since
	}
	if o.lastPick != p.lastPick {
		return o.lastPick < p.lastPick
	}
	return o.number < p.number
}

// waitTree keeps nodes in order and finds the first node that can run. It is a
// treap: a search tree by rank and a heap by weight, so that it is balanced for
// any input. Each step costs O(log n). A heap would be too slow: nodes that
// cannot run, because their receivers hang, gather at its top, and each pick
// would look at all of them.
type waitTree[T any] struct {
	root *node[T]
	size int
}

// minCost returns the minimum of the costs of all nodes. The caller must not
// change it.
func (r *waitTree[T]) minCost() *cost {
	if r.root == nil {
		return &neverFits
	}
	return &r.root.minCost
}

// first returns the first node that can run if left slots are left, or nil if
// there is none.
func (r *waitTree[T]) first(left *cost) *node[T] {
	s := r.root
	if s == nil || !s.minCost.fit(left) {
		return nil
	}
	for {
		switch {
		case s.left != nil && s.left.minCost.fit(left):
			s = s.left
		case s.cost.fit(left):
			return s
		default:
			s = s.right // the subtree has such a node, and it is neither here nor on the left
		}
	}
}

// walk calls f for each owner in order, until f returns false.
func (r *waitTree[T]) walk(f func(T) bool) { r.root.walk(f) }

func (s *node[T]) walk(f func(T) bool) bool {
	return s == nil || s.left.walk(f) && f(s.owner) && s.right.walk(f)
}

// put inserts s, or moves it to its new place. A node that can never run is not
// inserted.
func (r *waitTree[T]) put(s *node[T], o rank, need cost) {
	if s.inTree && s.rank == o && s.cost == need {
		return
	}
	if s.inTree && s.rank == o && need != neverFits {
		s.cost = need
		r.root.resum(s)
		return
	}
	r.remove(s)
	if need == neverFits {
		return
	}
	if s.weight == 0 {
		s.weight = scatter(o.number)
	}
	s.rank, s.cost, s.inTree = o, need, true
	r.root = r.root.insert(s)
	r.size++
}

func (r *waitTree[T]) remove(s *node[T]) {
	if s.inTree {
		r.root = r.root.remove(s)
		r.size--
		s.inTree, s.left, s.right = false, nil, nil
	}
}

// scatter makes consecutive numbers look random. It never returns 0.
func scatter(n uint64) uint32 {
	n = (n ^ n>>30) * 0xBF58476D1CE4E5B9
	n = (n ^ n>>27) * 0x94D049BB133111EB
	return uint32(n>>32) | 1
}

func (s *node[T]) sum() {
	s.minCost = s.cost
	if s.left != nil {
		s.minCost.lower(&s.left.minCost)
	}
	if s.right != nil {
		s.minCost.lower(&s.right.minCost)
	}
}

// resum corrects the minima above m after its cost has changed.
func (s *node[T]) resum(m *node[T]) {
	if s != m {
		if m.before(s.rank) {
			s.left.resum(m)
		} else {
			s.right.resum(m)
		}
	}
	s.sum()
}

func (s *node[T]) insert(m *node[T]) *node[T] {
	if s == nil || m.weight > s.weight {
		m.left, m.right = s.split(m.rank)
		m.sum()
		return m
	}
	if m.before(s.rank) {
		s.left = s.left.insert(m)
	} else {
		s.right = s.right.insert(m)
	}
	s.sum()
	return s
}

// split divides the subtree into the nodes before o and the other nodes.
func (s *node[T]) split(o rank) (before, behind *node[T]) {
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

func (s *node[T]) remove(m *node[T]) *node[T] {
	if s == m {
		return join(s.left, s.right)
	}
	if m.before(s.rank) {
		s.left = s.left.remove(m)
	} else {
		s.right = s.right.remove(m)
	}
	s.sum()
	return s
}

// join is the inverse of split.
func join[T any](before, behind *node[T]) *node[T] {
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
