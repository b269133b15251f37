package wheel

import "sync/atomic"

// A chunk of nodes is 32 kB, so ten million timers take 5,000 chunks. For each
// chunk of nodes there is one chunk of values and about one chunk of blocks:
// 15,000 objects in total. A full garbage collection takes 1.6 ms for them,
// where it took 3.4 ms with chunks of 1,024 nodes.
const (
	chunkShift = 11
	chunkCells = 1 << chunkShift
	chunkMask  = chunkCells - 1
	maxChunks  = 1 << (indexBits - chunkShift)
)

// nodeChunk never moves while a node of it is in use, so Extend may hold a node
// without the lock. After the chunk has been released, its nodes stay dead for
// goroutines that still read them.
type nodeChunk [chunkCells]node

// directory lists the table's chunks for readers without the lock. Its elements
// change in place, but to grow, it is copied.
type directory []atomic.Pointer[nodeChunk]

// table holds the nodes of one shard. All methods except find and live need the
// shard's lock.
//
// An ID is never given out twice, because a node's generation only grows. A
// chunk that is released and allocated again continues above its highest
// generation. A node or chunk that has used up its generations is retired.
type table struct {
	allocator chunkAllocator
	chunks    []*nodeChunk

	// lastFreed is the node that was freed last, as index+1, or 0. It is the
	// next to be taken, and until then the allocator counts it as used. So a
	// program that alternates between adding and removing timers does not touch
	// the allocator.
	lastFreed uint32

	// dir is written under the lock when a chunk is added or released, and read
	// by find without the lock. A reader reaches a node only through an ID, and
	// the ID was returned after the chunk was published here.
	dir atomic.Pointer[directory]
}

func newTable() table { return table{allocator: chunkAllocator{cells: chunkCells}} }

// at returns the node of an index that is in use. It checks for nil itself
// because the compiler would otherwise do so by reading the first node of the
// chunk: another cache line, on another page.
func (t *table) at(index uint32) *node {
	nodes := t.chunks[index>>chunkShift]
	if nodes == nil {
		return nil
	}
	return &nodes[index&chunkMask]
}

// lookup returns the node of an ID's index, or nil if there is none.
func (t *table) lookup(index uint32) *node {
	if int(index>>chunkShift) >= len(t.chunks) {
		return nil
	}
	return t.at(index)
}

// find is lookup without the lock.
func (t *table) find(index uint32) *node {
	dir := t.dir.Load()
	chunk := index >> chunkShift
	if dir == nil || int(chunk) >= len(*dir) {
		return nil
	}
	nodes := (*dir)[chunk].Load()
	if nodes == nil {
		return nil
	}
	return &nodes[index&chunkMask]
}

// live returns the node of a pending timer, or nil if the ID is stale. It needs
// no lock, but its answer stays true only under the lock.
func (t *table) live(id ID) *node {
	n := t.find(id.index())
	if n == nil || !n.carries(id) {
		return nil
	}
	return n
}

// take returns a dead node and the generation for its next timer. It fails only
// if all 2^28 indices are in use or retired.
func (t *table) take() (index uint32, n *node, generation uint32) {
	if t.lastFreed == 0 {
		return t.takeFromChunk()
	}
	index = t.lastFreed - 1
	t.lastFreed = 0
	n = t.at(index)
	return index, n, n.generation() + 1
}

func (t *table) takeFromChunk() (index uint32, n *node, generation uint32) {
	if t.allocator.open == 0 && !t.grow() {
		return 0, nil, 0
	}
	chunk := t.allocator.open - 1
	s := &t.allocator.chunks[chunk]
	if s.free != 0 {
		index = chunk<<chunkShift | (s.free - 1)
		n = t.at(index)
		s.free = n.place
	} else {
		index = chunk<<chunkShift | s.fresh
		n = t.at(index)
		s.fresh++
	}
	t.allocator.taken(s)
	return index, n, max(n.generation(), s.floor) + 1
}

// free takes back a node after its timer has ended. If that releases a chunk,
// it returns the index of a node in that chunk, and true.
func (t *table) free(index uint32) (released uint32, ok bool) {
	if t.at(index).generation() == maxGeneration {
		return index, t.putFree(index)
	}
	was := t.lastFreed
	t.lastFreed = index + 1
	if was == 0 {
		return 0, false
	}
	return was - 1, t.putFree(was - 1)
}

// flushLastFreed puts the last freed node on its free list. It is called when
// no timers are left, so that the last chunks can be released, with the results
// of free.
func (t *table) flushLastFreed() (released uint32, ok bool) {
	was := t.lastFreed
	t.lastFreed = 0
	return was - 1, was != 0 && t.putFree(was-1)
}

// putFree puts a node on its chunk's free list, and reports whether the chunk
// was released.
func (t *table) putFree(index uint32) (released bool) {
	chunk := index >> chunkShift
	s := &t.allocator.chunks[chunk]
	n := t.at(index)
	generation := n.generation()
	s.top = max(s.top, generation)
	if generation < maxGeneration {
		n.place = s.free
		s.free = index&chunkMask + 1
	}
	if !t.allocator.freed(s) {
		return false
	}
	t.allocator.release(chunk, s.top < maxGeneration)
	t.chunks[chunk] = nil
	(*t.dir.Load())[chunk].Store(nil)
	return true
}

// grow allocates a chunk.
func (t *table) grow() bool {
	if len(t.allocator.vacant) == 0 && len(t.chunks) == maxChunks {
		return false
	}
	chunk := t.allocator.add()
	if int(chunk) == len(t.chunks) {
		t.chunks = append(t.chunks, nil)
		t.growDirectory()
	}
	nodes := new(nodeChunk)
	t.chunks[chunk] = nodes
	(*t.dir.Load())[chunk].Store(nodes)
	return true
}

// growDirectory makes the directory at least as long as chunks, and doubles the
// length so that growth costs little in total.
func (t *table) growDirectory() {
	old := t.dir.Load()
	if old != nil && len(*old) >= len(t.chunks) {
		return
	}
	dir := make(directory, max(4, 2*len(t.chunks)))
	for i, nodes := range t.chunks {
		dir[i].Store(nodes)
	}
	t.dir.Store(&dir)
}
