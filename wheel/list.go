package wheel

// blockLen is the number of entries in a block. With its link a block is 256
// bytes, four cache lines.
const blockLen = 31

type block struct {
	next    uint32 // the next block of its list or of the free list; 0: none
	_       uint32
	entries [blockLen]entry
}

const (
	blockShift  = 7
	blockChunk  = 1 << blockShift
	blockIDMask = blockChunk - 1
)

// blocks is the arena from which the lists of one hierarchy take their blocks.
// A block's ID is never 0.
type blocks struct {
	allocator chunkAllocator
	chunks    []*[blockChunk]block
}

func newBlocks() blocks { return blocks{allocator: chunkAllocator{cells: blockChunk}} }

// at returns a block that is in use. It checks for nil for the same reason as
// table.at.
func (b *blocks) at(id uint32) *block {
	id--
	chunk := b.chunks[id>>blockShift]
	if chunk == nil {
		return nil
	}
	return &chunk[id&blockIDMask]
}

func (b *blocks) take() (id uint32) {
	if b.allocator.open == 0 {
		chunk := b.allocator.add()
		if int(chunk) == len(b.chunks) {
			b.chunks = append(b.chunks, nil)
		}
		b.chunks[chunk] = new([blockChunk]block)
	}
	chunk := b.allocator.open - 1
	s := &b.allocator.chunks[chunk]
	if s.free != 0 {
		id = chunk<<blockShift + s.free
		s.free = b.at(id).next
	} else {
		s.fresh++
		id = chunk<<blockShift + s.fresh
	}
	b.at(id).next = 0
	b.allocator.taken(s)
	return id
}

func (b *blocks) give(id uint32) {
	chunk := (id - 1) >> blockShift
	s := &b.allocator.chunks[chunk]
	b.at(id).next = s.free
	s.free = (id-1)&blockIDMask + 1
	if b.allocator.freed(s) {
		b.allocator.release(chunk, true)
		b.chunks[chunk] = nil
	}
}

// list is a sequence of entries in unrolled blocks: those of a slot, or of a
// slot that waits in the work queue. Entries are pushed at the tail and popped
// from the head, and a removal leaves a stale entry instead of searching for
// it.
//
// All blocks but the last are full to the end, and all but the first from the
// start. A list without entries has no blocks, and in one with entries only the
// last block may be empty.
type list struct {
	end        *block // the tail's memory; nil: no blocks
	head, tail uint32 // blocks; 0: none
	first      uint16 // where the entries of head begin
	room       uint16 // free entries in the tail
	n          uint32 // entries, including stale ones
	stale      uint32 // stale entries as far as known: a hint for when to compact, at most n
}

func (l *list) push(a *blocks, e entry) {
	if l.room == 0 {
		l.extend(a)
	}
	l.put(e)
}

// put is push for a tail that has room.
func (l *list) put(e entry) {
	l.end.entries[blockLen-l.room] = e
	l.room--
	l.n++
}

// append pushes a few entries.
func (l *list) append(a *blocks, es []entry) {
	l.n += uint32(len(es))
	for len(es) > 0 {
		if l.room == 0 {
			l.extend(a)
		}
		k := copy(l.end.entries[blockLen-l.room:], es)
		l.room -= uint16(k)
		es = es[k:]
	}
}

func (l *list) extend(a *blocks) {
	id := a.take()
	if l.tail == 0 {
		l.head, l.first = id, 0
	} else {
		l.end.next = id
	}
	l.tail, l.end, l.room = id, a.at(id), blockLen
}

// stop returns the end of the entries of the first block.
func (l *list) stop() uint16 {
	if l.head == l.tail {
		return blockLen - l.room
	}
	return blockLen
}

// pop must not be called on an empty list.
func (l *list) pop(a *blocks) entry {
	b := a.at(l.head)
	e := b.entries[l.first]
	l.first++
	l.n--
	switch {
	case l.n == 0:
		l.release(a)
	case l.first == blockLen:
		next := b.next
		a.give(l.head)
		l.head, l.first = next, 0
	}
	return e
}

// endsWith reports whether e is the last entry.
func (l *list) endsWith(e entry) bool {
	return l.end != nil && l.room < blockLen && l.end.entries[blockLen-1-l.room] == e
}

// unput removes the last entry. If it was the only one, the caller releases the
// list.
func (l *list) unput() {
	l.room++
	l.n--
	l.stale = min(l.stale, l.n)
}

// release frees all blocks.
func (l *list) release(a *blocks) {
	for id := l.head; id != 0; {
		next := a.at(id).next
		a.give(id)
		id = next
	}
	*l = list{}
}

// cut detaches the first block and returns it with its entries. The caller
// frees the block.
func (l *list) cut(a *blocks) (id uint32, es []entry) {
	id = l.head
	b := a.at(id)
	es = b.entries[l.first:l.stop()]
	if id == l.tail {
		l.head, l.tail, l.end, l.first, l.room = 0, 0, nil, 0, 0
	} else {
		l.head, l.first = b.next, 0
	}
	l.n -= uint32(len(es))
	if l.n == 0 && l.head != 0 { // the tail that is left is empty
		l.release(a)
	}
	return id, es
}
