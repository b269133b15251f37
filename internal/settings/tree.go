package settings

import (
	"cmp"
	"slices"
	"strings"
)

// leafSize bounds the entries of a leaf.
const leafSize = 256

// tree is a sorted map that never changes: put and remove return another tree,
// which shares all leaves but one. An edit copies this leaf and the list of
// leaves, 15 kB with 100,000 entries; the zero tree is empty.
type tree[V any] struct {
	leaves []*leaf[V] // none is empty
	size   int
}

type leaf[V any] struct {
	keys   []SettingKey
	values []V
}

type treeEntry[V any] struct {
	key   SettingKey
	value V
}

// newTree returns the tree of all entries; of those with the same key, the last
// one counts.
func newTree[V any](entries []treeEntry[V]) (t tree[V]) {
	slices.SortStableFunc(entries, func(a, b treeEntry[V]) int { return a.key.compare(&b.key) })
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].key == e.key {
			continue
		}
		if t.size%(leafSize*3/4) == 0 {
			t.leaves = append(t.leaves, &leaf[V]{})
		}
		l := t.leaves[len(t.leaves)-1]
		l.keys, l.values = append(l.keys, e.key), append(l.values, e.value)
		t.size++
	}
	return t
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

// find returns the leaf and the place of key in it, or where to insert it. Each
// task looks up its queue, so these are hand-written loops:
// slices.BinarySearchFunc took twice as long.
func (t tree[V]) find(key SettingKey) (leaf, place int, found bool) {
	if t.size == 0 {
		return 0, 0, false
	}
	for high := len(t.leaves); high-leaf > 1; {
		if mid := int(uint(leaf+high) >> 1); t.leaves[mid].keys[0].compare(&key) <= 0 {
			leaf = mid
		} else {
			high = mid
		}
	}
	keys := t.leaves[leaf].keys
	for high := len(keys); place < high; {
		mid := int(uint(place+high) >> 1)
		switch c := keys[mid].compare(&key); {
		case c == 0:
			return leaf, mid, true
		case c < 0:
			place = mid + 1
		default:
			high = mid
		}
	}
	return leaf, place, false
}

func (t tree[V]) get(key SettingKey) (value V, ok bool) {
	if i, at, found := t.find(key); found {
		return t.leaves[i].values[at], true
	}
	return value, false
}

func (t tree[V]) put(key SettingKey, value V) tree[V] {
	if t.size == 0 {
		return newTree([]treeEntry[V]{{key, value}})
	}
	i, at, found := t.find(key)
	old, leaves := t.leaves[i], slices.Clone(t.leaves)
	if found {
		leaves[i] = &leaf[V]{old.keys, slices.Clone(old.values)}
		leaves[i].values[at] = value
		return tree[V]{leaves, t.size}
	}
	keys, values := slices.Insert(slices.Clip(old.keys), at, key), slices.Insert(slices.Clip(old.values), at, value)
	leaves[i] = &leaf[V]{keys, values}
	if half := leafSize / 2; len(keys) > leafSize {
		leaves[i] = &leaf[V]{slices.Clone(keys[:half]), slices.Clone(values[:half])}
		leaves = slices.Insert(leaves, i+1, &leaf[V]{keys[half:], values[half:]})
	}
	return tree[V]{leaves, t.size + 1}
}

func (t tree[V]) remove(key SettingKey) tree[V] {
	i, at, found := t.find(key)
	if !found {
		return t
	}
	old, leaves := t.leaves[i], slices.Clone(t.leaves)
	if len(old.keys) == 1 {
		return tree[V]{slices.Delete(leaves, i, i+1), t.size - 1}
	}
	leaves[i] = &leaf[V]{slices.Delete(slices.Clone(old.keys), at, at+1), slices.Delete(slices.Clone(old.values), at, at+1)}
	return tree[V]{leaves, t.size - 1}
}

func (t tree[V]) rank(key SettingKey) int {
	i, rank, _ := t.find(key)
	for _, l := range t.leaves[:i] {
		rank += len(l.keys)
	}
	return rank
}

// walk calls f with the entries from first on, in order, until f returns false.
func (t tree[V]) walk(first SettingKey, f func(SettingKey, V) bool) {
	i, at, _ := t.find(first)
	for ; i < len(t.leaves); i, at = i+1, 0 {
		for l := t.leaves[i]; at < len(l.keys); at++ {
			if !f(l.keys[at], l.values[at]) {
				return
			}
		}
	}
}
