package wheel

// blockLen is the number of entries in a block: with the link a block is 256 bytes, four cache lines.
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

// blocks is the arena from which the lists of one hierarchy take their blocks. A block's id is never 0.
type blocks struct {
	ledger ledger
	chunks []*[blockChunk]block
}

func newBlocks() blocks { return blocks{ledger: ledger{cells: blockChunk}} }

// at returns a block that is in use. The check is there for the reason that table.at gives.
func (a *blocks) at(id uint32) *block {
	id--
	chunk := a.chunks[id>>blockShift]
	if chunk == nil {
		return nil
	}
	return &chunk[id&blockIDMask]
}

func (a *blocks) take() (id uint32) {
	if a.ledger.open == 0 {
		chunk := a.ledger.add()
		if int(chunk) == len(a.chunks) {
			a.chunks = append(a.chunks, nil)
		}
		a.chunks[chunk] = new([blockChunk]block)
	}
	chunk := a.ledger.open - 1
	s := &a.ledger.chunks[chunk]
	if s.free != 0 {
		id = chunk<<blockShift + s.free
		s.free = a.at(id).next
	} else {
		s.fresh++
		id = chunk<<blockShift + s.fresh
	}
	a.at(id).next = 0
	a.ledger.took(s)
	return id
}

func (a *blocks) give(id uint32) {
	chunk := (id - 1) >> blockShift
	s := &a.ledger.chunks[chunk]
	a.at(id).next = s.free
	s.free = (id-1)&blockIDMask + 1
	if a.ledger.gave(s) {
		a.ledger.release(chunk, true)
		a.chunks[chunk] = nil
	}
}

// list is a sequence of entries in unrolled blocks: a slot's, or one that waits in the work queue. An entry is pushed
// at the tail and popped from the head. A removal does not look for its entry: it leaves it stale.
//
// All blocks but the last are full to the end, and all but the first from the start. A list without entries has no
// blocks; the last block alone may be empty in a list that has some.
type list struct {
	end        *block // the tail's memory; nil: no blocks
	head, tail uint32 // blocks; 0: none
	first      uint16 // head's entries begin here
	room       uint16 // for so many more entries in the tail
	n          uint32 // entries, the stale ones included
	stale      uint32 // how many are stale, as far as known: a hint for when to sift, never more than n
}

func (l *list) push(a *blocks, e entry) {
	if l.room == 0 {
		l.extend(a)
	}
	l.put(e)
}

// put is push where there is room.
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

// stop returns where the entries of the first block end.
func (l *list) stop() uint16 {
	if l.head == l.tail {
		return blockLen - l.room
	}
	return blockLen
}

// pop needs a list with entries.
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

// endsWith reports whether e is the latest entry.
func (l *list) endsWith(e entry) bool {
	return l.end != nil && l.room < blockLen && l.end.entries[blockLen-1-l.room] == e
}

// unput takes the latest entry back. If it was the only one the caller releases the list.
func (l *list) unput() {
	l.room++
	l.n--
	l.stale = min(l.stale, l.n)
}

// release gives all blocks back.
func (l *list) release(a *blocks) {
	for id := l.head; id != 0; {
		next := a.at(id).next
		a.give(id)
		id = next
	}
	*l = list{}
}

// cut detaches the first block and returns it with its entries. The caller gives the block back.
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
