package wheel

import "sync/atomic"

// A chunk of nodes is 32 kB. Ten million timers are 5,000 chunks, three objects each with the values and the blocks: a full
// garbage collection takes 1.6 ms for them; with chunks of 1,024 it took 3.4 ms.
const (
	chunkShift = 11
	chunkCells = 1 << chunkShift
	chunkMask  = chunkCells - 1
	maxChunks  = 1 << (indexBits - chunkShift)
)

// nodeChunk never moves while it has a node in use, so Extend may hold on to a node without the lock. When the chunk
// has been given back, its nodes stay dead for whoever still looks at them.
type nodeChunk [chunkCells]node

// directory is the table's chunks for readers without the lock. It is copied to grow; its elements change in place.
type directory []atomic.Pointer[nodeChunk]

// table holds the nodes of one shard. Everything but find and live needs the shard's lock.
//
// An ID is never given twice: a node's generation only grows, a chunk that is given back and allocated again goes on
// above its highest generation, and a node (or chunk) whose generations are used up is retired for good.
type table struct {
	ledger ledger
	chunks []*nodeChunk

	// pocket is the node that was freed last, as index+1, or 0. It is the next to be taken, before the ledger, for
	// which it is still in use. So what is added and removed in turns leaves the books alone.
	pocket uint32

	// dir is written under the lock when a chunk comes or goes, and read by find without it. A node is reached
	// through it only by an ID, which was handed out after the chunk was published here.
	dir atomic.Pointer[directory]
}

func newTable() table { return table{ledger: ledger{cells: chunkCells}} }

// at returns the node of an index that is known to be in use. It checks for nil because the compiler would do so
// otherwise, by reading the first node of the chunk: another cache line, on another page.
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

// live returns the node of a pending timer, or nil if the ID is stale. It needs no lock; but only under the lock does the
// answer stay true.
func (t *table) live(id ID) *node {
	n := t.find(id.index())
	if n == nil || !n.carries(id) {
		return nil
	}
	return n
}

// take returns a dead node, and the generation under which it shall live. It fails only when all 2^28 indices are in
// use or retired.
func (t *table) take() (index uint32, n *node, generation uint32) {
	if t.pocket == 0 {
		return t.takeFromShelf()
	}
	index = t.pocket - 1
	t.pocket = 0
	n = t.at(index)
	return index, n, n.generation() + 1
}

func (t *table) takeFromShelf() (index uint32, n *node, generation uint32) {
	if t.ledger.open == 0 && !t.grow() {
		return 0, nil, 0
	}
	chunk := t.ledger.open - 1
	s := &t.ledger.chunks[chunk]
	if s.free != 0 {
		index = chunk<<chunkShift | (s.free - 1)
		n = t.at(index)
		s.free = n.place
	} else {
		index = chunk<<chunkShift | s.fresh
		n = t.at(index)
		s.fresh++
	}
	t.ledger.took(s)
	return index, n, max(n.generation(), s.floor) + 1
}

// free takes back a node whose timer has ended. If that empties a chunk which is given back, it is the chunk of the node
// released.
func (t *table) free(index uint32) (released uint32, ok bool) {
	if t.at(index).generation() == maxGeneration {
		return index, t.shelve(index)
	}
	was := t.pocket
	t.pocket = index + 1
	if was == 0 {
		return 0, false
	}
	return was - 1, t.shelve(was - 1)
}

// turnOut empties the pocket: nothing may keep the last chunks when there are no timers. Its results are those of free.
func (t *table) turnOut() (released uint32, ok bool) {
	was := t.pocket
	t.pocket = 0
	return was - 1, was != 0 && t.shelve(was-1)
}

// shelve puts a node on its chunk's free list. It reports whether the chunk went with it.
func (t *table) shelve(index uint32) (released bool) {
	chunk := index >> chunkShift
	s := &t.ledger.chunks[chunk]
	n := t.at(index)
	generation := n.generation()
	s.top = max(s.top, generation)
	if generation < maxGeneration {
		n.place = s.free
		s.free = index&chunkMask + 1
	}
	if !t.ledger.gave(s) {
		return false
	}
	t.ledger.release(chunk, s.top < maxGeneration)
	t.chunks[chunk] = nil
	(*t.dir.Load())[chunk].Store(nil)
	return true
}

// grow allocates a chunk.
func (t *table) grow() bool {
	if len(t.ledger.vacant) == 0 && len(t.chunks) == maxChunks {
		return false
	}
	chunk := t.ledger.add()
	if int(chunk) == len(t.chunks) {
		t.chunks = append(t.chunks, nil)
		t.growDirectory()
	}
	nodes := new(nodeChunk)
	t.chunks[chunk] = nodes
	(*t.dir.Load())[chunk].Store(nodes)
	return true
}

// growDirectory makes the directory at least as long as chunks. The copy doubles, so that growth costs little in all.
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
