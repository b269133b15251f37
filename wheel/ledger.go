package wheel

// ledger keeps the books of an arena that is made of fixed chunks of cells: which chunks have memory, which have room,
// where the next cell is taken from. The owner holds the memory and the links of the free lists, which stand in the
// free cells themselves.
//
// Invariants: a chunk is on the open list exactly if it has memory and a cell to give; at most one chunk that has
// memory is empty. The latest chunk that got room again is used first: it is warm.
type ledger struct {
	cells  uint32 // per chunk
	chunks []shelf
	open   uint32   // first of the open list, as chunk+1; 0: none
	vacant []uint32 // chunks that have given their memory back
	empty  int      // chunks with memory but no cell in use
}

// shelf is what the ledger knows of one chunk.
type shelf struct {
	number     uint32 // of the chunk
	used       uint32 // cells in use
	fresh      uint32 // cells from here on were never used
	free       uint32 // head of the free list, as cell+1; 0: none
	prev, next uint32 // in the open list, as chunk+1
	isOpen     bool

	// For a table: the highest generation of a node that came back, and that before the present memory was allocated.
	top, floor uint32
}

func (s *shelf) hasRoom(cells uint32) bool { return s.free != 0 || s.fresh < cells }

// add makes room for one more chunk and returns its number. The owner supplies the memory.
func (l *ledger) add() (chunk uint32) {
	if k := len(l.vacant); k > 0 {
		chunk = l.vacant[k-1]
		l.vacant = l.vacant[:k-1]
	} else {
		chunk = uint32(len(l.chunks))
		l.chunks = append(l.chunks, shelf{})
	}
	s := &l.chunks[chunk]
	s.number = chunk
	l.empty++
	l.push(s)
	return chunk
}

// took books the cell that the owner has just taken from the chunk. It is small enough to be inlined.
func (l *ledger) took(s *shelf) {
	s.used++
	if s.used == 1 || s.free == 0 && s.fresh == l.cells {
		l.tookFirstOrLast(s)
	}
}

//go:noinline // so that took can be
func (l *ledger) tookFirstOrLast(s *shelf) {
	if s.used == 1 {
		l.empty--
	}
	if !s.hasRoom(l.cells) {
		l.unlink(s)
	}
}

// gave books a cell that the owner has put back (or retired), and reports whether the chunk's memory shall go: it is
// empty, and so is another.
func (l *ledger) gave(s *shelf) (release bool) {
	s.used--
	return (s.used == 0 || !s.isOpen) && l.gaveFirstOrLast(s)
}

//go:noinline // so that gave can be
func (l *ledger) gaveFirstOrLast(s *shelf) (release bool) {
	if !s.isOpen && s.hasRoom(l.cells) {
		l.push(s)
	}
	if s.used > 0 {
		return false
	}
	l.empty++
	return l.empty > 1
}

// release takes an empty chunk off the books. A chunk that is not reusable is never given a number again.
func (l *ledger) release(chunk uint32, reusable bool) {
	s := &l.chunks[chunk]
	if s.isOpen {
		l.unlink(s)
	}
	*s = shelf{top: s.top, floor: s.top}
	l.empty--
	if reusable {
		l.vacant = append(l.vacant, chunk)
	}
}

func (l *ledger) push(s *shelf) {
	s.prev, s.next, s.isOpen = 0, l.open, true
	if l.open != 0 {
		l.chunks[l.open-1].prev = s.number + 1
	}
	l.open = s.number + 1
}

func (l *ledger) unlink(s *shelf) {
	if s.prev != 0 {
		l.chunks[s.prev-1].next = s.next
	} else {
		l.open = s.next
	}
	if s.next != 0 {
		l.chunks[s.next-1].prev = s.prev
	}
	s.isOpen = false
}
