package planner

import "math"

// cost is the condition under which an attempt can start. It holds a number of
// slots for each class of receivers. An attempt can start if a class has more
// free slots than the cost names for it, or if a kind in kinds has room.
//
// The last number, share, allows a start while the queue has less than its
// share. For a queue it is the number of running attempts. For a lane it is 0,
// and namespace.cost multiplies it.
//
// A cost can also describe what is free: the slots of each class, and the kinds
// with room for another attempt. So a search skips all lanes of a kind that is
// at its limit, and its time does not depend on their number.
type cost struct {
	slots [share + 1]int32
	kinds uint64 // bits: see kind.bit
}

const share = suspect + 1

// never is more slots than there can be.
const never = math.MaxInt32

var neverFits = cost{slots: [share + 1]int32{never, never, never, never}}

// fit reports whether an attempt with the cost c can start if left is free. It
// takes pointers, as lower does, because a copy of a cost takes longer than
// their work.
func (c *cost) fit(left *cost) bool {
	a, b := &c.slots, &left.slots
	return a[proven] < b[proven] || a[unknown] < b[unknown] || a[suspect] < b[suspect] || a[share] < b[share] || c.kinds&left.kinds != 0
}

// lower sets c to the smallest cost that fits if c or other fits.
func (c *cost) lower(other *cost) {
	for i := range c.slots {
		c.slots[i] = min(c.slots[i], other.slots[i])
	}
	c.kinds |= other.kinds
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

func (r rank) before(other rank) bool {
	if r.since != other.since {
		return r.since < other.since
	}
	if r.lastPick != other.lastPick {
		return r.lastPick < other.lastPick
	}
	return r.number < other.number
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
func (t *waitTree[T]) minCost() *cost {
	if t.root == nil {
		return &neverFits
	}
	return &t.root.minCost
}

// first returns the first node whose cost fits left, or nil if there is none.
func (t *waitTree[T]) first(left *cost) *node[T] {
	n := t.root
	if n == nil || !n.minCost.fit(left) {
		return nil
	}
	for {
		switch {
		case n.left != nil && n.left.minCost.fit(left):
			n = n.left
		case n.cost.fit(left):
			return n
		default:
			n = n.right // so the node that fits is in the right subtree
		}
	}
}

// walk calls f for each owner in order, until f returns false.
func (t *waitTree[T]) walk(f func(T) bool) { t.root.walk(f) }

func (n *node[T]) walk(f func(T) bool) bool {
	return n == nil || n.left.walk(f) && f(n.owner) && n.right.walk(f)
}

// put inserts n, moves it to its new place, or changes its cost. A node that
// can never run is removed.
func (t *waitTree[T]) put(n *node[T], r rank, need cost) {
	switch {
	case n.inTree && n.rank == r && n.cost == need:
		return
	case n.inTree && n.rank == r && need != neverFits:
		n.cost = need
		t.root.resum(n)
		return
	case n.inTree:
		t.root = t.root.remove(n)
		t.size--
		n.inTree, n.left, n.right = false, nil, nil
	}
	if need == neverFits {
		return
	}
	if n.weight == 0 {
		n.weight = scatter(r.number)
	}
	n.rank, n.cost, n.inTree = r, need, true
	t.root = t.root.insert(n)
	t.size++
}

// scatter makes consecutive numbers look random. It never returns 0.
func scatter(n uint64) uint32 {
	n = (n ^ n>>30) * 0xBF58476D1CE4E5B9
	n = (n ^ n>>27) * 0x94D049BB133111EB
	return uint32(n>>32) | 1
}

func (n *node[T]) sum() {
	n.minCost = n.cost
	if n.left != nil {
		n.minCost.lower(&n.left.minCost)
	}
	if n.right != nil {
		n.minCost.lower(&n.right.minCost)
	}
}

// resum corrects the minima above other after its cost has changed.
func (n *node[T]) resum(other *node[T]) {
	if n != other {
		if other.before(n.rank) {
			n.left.resum(other)
		} else {
			n.right.resum(other)
		}
	}
	n.sum()
}

func (n *node[T]) insert(other *node[T]) *node[T] {
	if n == nil || other.weight > n.weight {
		other.left, other.right = n.split(other.rank)
		other.sum()
		return other
	}
	if other.before(n.rank) {
		n.left = n.left.insert(other)
	} else {
		n.right = n.right.insert(other)
	}
	n.sum()
	return n
}

// split divides the subtree into the nodes before r and the other nodes.
func (n *node[T]) split(r rank) (before, behind *node[T]) {
	if n == nil {
		return nil, nil
	}
	if n.before(r) {
		n.right, behind = n.right.split(r)
		before = n
	} else {
		before, n.left = n.left.split(r)
		behind = n
	}
	n.sum()
	return before, behind
}

func (n *node[T]) remove(other *node[T]) *node[T] {
	if n == other {
		return join(n.left, n.right)
	}
	if other.before(n.rank) {
		n.left = n.left.remove(other)
	} else {
		n.right = n.right.remove(other)
	}
	n.sum()
	return n
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
