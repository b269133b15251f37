package wheel

// chunkAllocator keeps track of an arena of fixed chunks of cells: which chunks
// have memory, which have free cells, and where to take the next cell. The
// owner of the arena holds the memory. The links of the free lists are stored
// in the free cells, so the owner writes them too.
//
// Invariants: a chunk is on the open list if and only if it has memory and a
// free cell. At most one chunk with memory is empty. The chunk that got a free
// cell last is used first, because it is in the cache.
type chunkAllocator struct {
	cells  uint32 // per chunk
	chunks []chunkState
	open   uint32   // first of the open list, as chunk+1; 0: none
	vacant []uint32 // chunks without memory
	empty  int      // chunks with memory but without a cell in use
}

type chunkState struct {
	number     uint32 // of the chunk
	used       uint32 // cells in use
	fresh      uint32 // cells from here on were never used
	free       uint32 // head of the free list, as cell+1; 0: none
	prev, next uint32 // in the open list, as chunk+1
	isOpen     bool

	// Used by table only. top is the highest generation of a node that was
	// freed; floor is the value of top when the present memory was allocated.
	top, floor uint32
}

func (s *chunkState) hasRoom(cells uint32) bool { return s.free != 0 || s.fresh < cells }

// add adds a chunk and returns its number. The owner supplies the memory.
func (a *chunkAllocator) add() (chunk uint32) {
	if k := len(a.vacant); k > 0 {
		chunk = a.vacant[k-1]
		a.vacant = a.vacant[:k-1]
	} else {
		chunk = uint32(len(a.chunks))
		a.chunks = append(a.chunks, chunkState{})
	}
	s := &a.chunks[chunk]
	s.number = chunk
	a.empty++
	a.push(s)
	return chunk
}

// taken must be called after the owner has taken a cell from a chunk. It is
// small enough to be inlined.
func (a *chunkAllocator) taken(s *chunkState) {
	s.used++
	if s.used == 1 || s.free == 0 && s.fresh == a.cells {
		a.firstOrLastTaken(s)
	}
}

//go:noinline // so that taken can be
func (a *chunkAllocator) firstOrLastTaken(s *chunkState) {
	if s.used == 1 {
		a.empty--
	}
	if !s.hasRoom(a.cells) {
		a.unlink(s)
	}
}

// freed must be called after the owner has freed or retired a cell. It reports
// whether the owner must release the chunk's memory: if this chunk and another
// one are empty.
func (a *chunkAllocator) freed(s *chunkState) (release bool) {
	s.used--
	return (s.used == 0 || !s.isOpen) && a.firstOrLastFreed(s)
}

//go:noinline // so that freed can be
func (a *chunkAllocator) firstOrLastFreed(s *chunkState) (release bool) {
	if !s.isOpen && s.hasRoom(a.cells) {
		a.push(s)
	}
	if s.used > 0 {
		return false
	}
	a.empty++
	return a.empty > 1
}

// release removes an empty chunk. If the chunk is not reusable, its number is
// never given out again.
func (a *chunkAllocator) release(chunk uint32, reusable bool) {
	s := &a.chunks[chunk]
	if s.isOpen {
		a.unlink(s)
	}
	*s = chunkState{top: s.top, floor: s.top}
	a.empty--
	if reusable {
		a.vacant = append(a.vacant, chunk)
	}
}

func (a *chunkAllocator) push(s *chunkState) {
	s.prev, s.next, s.isOpen = 0, a.open, true
	if a.open != 0 {
		a.chunks[a.open-1].prev = s.number + 1
	}
	a.open = s.number + 1
}

func (a *chunkAllocator) unlink(s *chunkState) {
	if s.prev != 0 {
		a.chunks[s.prev-1].next = s.next
	} else {
		a.open = s.next
	}
	if s.next != 0 {
		a.chunks[s.next-1].prev = s.prev
	}
	s.isOpen = false
}
