package wheel

import "iter"

// All yields the pending timers, in no particular order. It is weakly
// consistent: a timer that is pending during the whole loop is yielded once,
// and one that is added or ends during the loop may be missing. All locks a
// shard for 128 timers at a time, and holds no lock while it yields.
func (w *Wheel[T]) All() iter.Seq2[ID, T] {
	return func(yield func(ID, T) bool) {
		for _, sh := range w.shards {
			if !sh.each(yield) {
				return
			}
		}
	}
}

// each is All for one shard. It returns false if yield does.
func (sh *shard[T]) each(yield func(ID, T) bool) bool {
	var page []Expired[T]
	for from, ok := uint32(0), true; ok; from += pageCells {
		page, ok = sh.page(page[:0], from)
		for i := range page {
			if !yield(page[i].ID, page[i].Value) {
				return false
			}
		}
	}
	return true
}

// pageCells is how many nodes All reads while it holds the lock. It divides a
// chunk.
const pageCells = 128

// page appends the pending timers of the pageCells nodes at and after from. It
// returns false after the last node.
func (sh *shard[T]) page(page []Expired[T], from uint32) ([]Expired[T], bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if int(from>>chunkShift) >= len(sh.nodes.chunks) {
		return page, false
	}
	if sh.nodes.chunks[from>>chunkShift] == nil {
		return page, true
	}
	for index := from; index < from+pageCells; index++ {
		n := sh.nodes.at(index)
		if isLive(n.state.Load()) {
			id := makeID(sh.number, n.generation(), index)
			page = append(page, Expired[T]{ID: id, Value: *sh.values.at(index)})
		}
	}
	return page, true
}

// Drain removes the pending timers and yields them, in no particular order,
// each right after its removal. If the loop ends early, the rest stay. Drain
// also works after Close, and does nothing until it is ranged over. Timers that
// are added during the loop may or may not be drained, but each timer is
// drained, fired or removed, exactly once. Drain locks a shard for one timer at
// a time, and holds no lock while it yields.
func (w *Wheel[T]) Drain() iter.Seq2[ID, T] {
	return func(yield func(ID, T) bool) {
		for _, sh := range w.shards {
			for from := uint32(0); ; {
				id, v, ok := sh.drain(from)
				if !ok {
					break
				}
				if !yield(id, v) {
					return
				}
				from = id.index() + 1
			}
		}
	}
}

// drain removes the first pending timer at or after node from.
func (sh *shard[T]) drain(from uint32) (id ID, v T, ok bool) {
	sh.mu.Lock()
	index, n := sh.nodes.firstLive(from)
	if n == nil {
		sh.mu.Unlock()
		return 0, v, false
	}
	id = makeID(sh.number, n.generation(), index)
	if sh.expiring != nil {
		sh.expiring(sh, index)
	}
	v = sh.removeLocked(index, n)
	sh.count.drained++
	sh.mu.Unlock()
	sh.limit.free(1)
	return id, v, true
}

// firstLive returns the first live node at or after index, or nil.
func (t *table) firstLive(index uint32) (uint32, *node) {
	for int(index>>chunkShift) < len(t.chunks) {
		chunk := index >> chunkShift
		if t.chunks[chunk] == nil || t.allocator.chunks[chunk].used == 0 {
			index = (chunk + 1) << chunkShift
			continue
		}
		if n := t.at(index); isLive(n.state.Load()) {
			return index, n
		}
		index++
	}
	return 0, nil
}
