package settings

import (
	"cmp"
	"slices"
	"strings"
)

// leafSize bounds the entries, or the children, of a node.
const leafSize = 64

// tree is a sorted map that never changes: put and remove return another tree,
// which shares all nodes except those on the path to the entry. So an edit of
// the settings costs O(log n), and snapshots never change. (The first version
// was a map that each edit copied: with 100,000 settings, all namespaces
// together had 22 edits a second.) The zero tree is empty.
//
// It is a B+ tree: nodes are split when they are full and removed when they are
// empty. Nodes with few entries are not joined. This costs some memory.
type tree[V any] struct{ root *treeNode[V] }

// treeNode is a leaf with keys and values, or an inner node with children and,
// for each, the smallest key that it may hold.
type treeNode[V any] struct {
	keys   []SettingKey
	values []V
	kids   []*treeNode[V]
	size   int // entries below
}

// newTree returns the tree of all entries. If entries have the same key, the
// last one counts.
func newTree[V any](entries []treeEntry[V]) tree[V] {
	slices.SortStableFunc(entries, func(a, b treeEntry[V]) int { return a.key.compare(&b.key) })
	var level []*treeNode[V]
	leaf := &treeNode[V]{}
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].key == e.key {
			continue
		}
		if len(leaf.keys) == leafSize*3/4 {
			level, leaf = append(level, leaf), &treeNode[V]{}
		}
		leaf.keys, leaf.values, leaf.size = append(leaf.keys, e.key), append(leaf.values, e.value), leaf.size+1
	}
	if leaf.size == 0 {
		return tree[V]{}
	}
	for level = append(level, leaf); len(level) > 1; {
		var next []*treeNode[V]
		for kids := range slices.Chunk(level, leafSize*3/4) {
			n := &treeNode[V]{kids: slices.Clone(kids)}
			for _, kid := range kids {
				n.keys, n.size = append(n.keys, kid.keys[0]), n.size+kid.size
			}
			next = append(next, n)
		}
		level = next
	}
	return tree[V]{level[0]}
}

type treeEntry[V any] struct {
	key   SettingKey
	value V
}

func (k *SettingKey) compare(o *SettingKey) int {
	if k.Kind != o.Kind {
		return cmp.Compare(k.Kind, o.Kind)
	}
	if k.Namespace != o.Namespace {
		return strings.Compare(k.Namespace, o.Namespace)
	}
	return strings.Compare(k.Name, o.Name)
}

// len returns the number of entries.
func (t tree[V]) len() int {
	if t.root == nil {
		return 0
	}
	return t.root.size
}

// get returns the value of key.
func (t tree[V]) get(key SettingKey) (value V, ok bool) {
	n := t.root
	for n != nil && n.kids != nil {
		n = n.kids[n.kid(key)]
	}
	if n != nil {
		if i, found := n.find(key); found {
			return n.values[i], true
		}
	}
	return value, false
}

// put returns the tree in which key has value.
func (t tree[V]) put(key SettingKey, value V) tree[V] {
	if t.root == nil {
		return tree[V]{&treeNode[V]{keys: []SettingKey{key}, values: []V{value}, size: 1}}
	}
	return tree[V]{above(t.root.put(key, value))}
}

// remove returns the tree without key.
func (t tree[V]) remove(key SettingKey) tree[V] {
	if _, ok := t.get(key); !ok {
		return t
	}
	root := t.root.remove(key)
	for root != nil && len(root.kids) == 1 {
		root = root.kids[0]
	}
	return tree[V]{root}
}

// rank returns the number of entries before key.
func (t tree[V]) rank(key SettingKey) (rank int) {
	n := t.root
	for n != nil && n.kids != nil {
		i := n.kid(key)
		for _, before := range n.kids[:i] {
			rank += before.size
		}
		n = n.kids[i]
	}
	if n != nil {
		i, _ := n.find(key)
		rank += i
	}
	return rank
}

// walk calls f with the entries from first on, in order, until f returns false.
func (t tree[V]) walk(first SettingKey, f func(SettingKey, V) bool) {
	if t.root != nil {
		t.root.walk(first, f)
	}
}

// find returns the position of key in a leaf, or the position to insert it at.
// Each task looks up its queue, so this is a hand-written loop:
// slices.BinarySearchFunc took twice as long.
func (n *treeNode[V]) find(key SettingKey) (int, bool) {
	low, high := 0, len(n.keys)
	for low < high {
		mid := int(uint(low+high) >> 1)
		switch c := n.keys[mid].compare(&key); {
		case c == 0:
			return mid, true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return low, false
}

// kid returns the number of the child that may hold key.
func (n *treeNode[V]) kid(key SettingKey) int {
	i, found := n.find(key)
	if !found {
		i = max(0, i-1)
	}
	return i
}

// put returns the nodes that replace n: one, or two if n was full.
func (n *treeNode[V]) put(key SettingKey, value V) (low, high *treeNode[V]) {
	c := &treeNode[V]{keys: n.keys, values: n.values, kids: n.kids, size: n.size}
	if n.kids == nil {
		i, found := n.find(key)
		if found {
			c.values = slices.Clone(n.values)
			c.values[i] = value
			return c, nil
		}
		c.keys, c.values = inserted(n.keys, i, key), inserted(n.values, i, value)
		c.size++
	} else {
		i := n.kid(key)
		a, b := n.kids[i].put(key, value)
		c.kids, c.keys = slices.Clone(n.kids), slices.Clone(n.keys)
		c.kids[i], c.keys[i] = a, a.keys[0]
		c.size += a.size - n.kids[i].size
		if b != nil {
			c.kids, c.keys = slices.Insert(c.kids, i+1, b), slices.Insert(c.keys, i+1, b.keys[0])
			c.size += b.size
		}
	}
	if len(c.keys) <= leafSize {
		return c, nil
	}
	return c.split()
}

func (n *treeNode[V]) split() (low, high *treeNode[V]) {
	half := len(n.keys) / 2
	low, high = &treeNode[V]{keys: slices.Clip(n.keys[:half])}, &treeNode[V]{keys: n.keys[half:]}
	if n.kids == nil {
		low.values, high.values = slices.Clip(n.values[:half]), n.values[half:]
		low.size, high.size = half, len(n.keys)-half
		return low, high
	}
	low.kids, high.kids = slices.Clip(n.kids[:half]), n.kids[half:]
	for _, kid := range low.kids {
		low.size += kid.size
	}
	high.size = n.size - low.size
	return low, high
}

// above returns the root of one node, or of two.
func above[V any](low, high *treeNode[V]) *treeNode[V] {
	if high == nil {
		return low
	}
	return &treeNode[V]{keys: []SettingKey{low.keys[0], high.keys[0]}, kids: []*treeNode[V]{low, high}, size: low.size + high.size}
}

// remove returns the node that replaces n, or nil if it would be empty. n has
// key.
func (n *treeNode[V]) remove(key SettingKey) *treeNode[V] {
	i := n.kid(key)
	var kid *treeNode[V]
	if n.kids != nil {
		kid = n.kids[i].remove(key)
	}
	switch {
	case kid != nil:
		c := &treeNode[V]{keys: slices.Clone(n.keys), kids: slices.Clone(n.kids), size: n.size - 1}
		c.kids[i], c.keys[i] = kid, kid.keys[0]
		return c
	case len(n.keys) == 1:
		return nil
	}
	c := &treeNode[V]{keys: without(n.keys, i), size: n.size - 1}
	if n.kids != nil {
		c.kids = without(n.kids, i)
	} else {
		c.values = without(n.values, i)
	}
	return c
}

func (n *treeNode[V]) walk(first SettingKey, f func(SettingKey, V) bool) bool {
	if n.kids != nil {
		for _, kid := range n.kids[n.kid(first):] {
			if !kid.walk(first, f) {
				return false
			}
		}
		return true
	}
	i, _ := n.find(first)
	for ; i < len(n.keys); i++ {
		if !f(n.keys[i], n.values[i]) {
			return false
		}
	}
	return true
}

// inserted returns a copy of list with x at i.
func inserted[E any](list []E, i int, x E) []E {
	c := make([]E, 0, len(list)+1)
	return append(append(append(c, list[:i]...), x), list[i:]...)
}

// without returns a copy of list without element i.
func without[E any](list []E, i int) []E {
	c := make([]E, 0, len(list)-1)
	return append(append(c, list[:i]...), list[i+1:]...)
}
