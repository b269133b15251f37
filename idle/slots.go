package idle

import (
	"syscall"

	"github.com/foliot/foliot/wheel"
)

// slots holds the state of a group's connections in chunks, by index. State
// that only some connections need is in arrays of its own, which a chunk gets
// with the first such connection. The owner guards it.
type slots[C any] struct {
	chunks []*chunk[C]
	free   []uint32
	taken  int
	aged   bool // every chunk has born
}

const (
	chunkSize = 525     // fills the allocator's size classes: 18432 bytes if C is an interface, and 14336 if it is a pointer
	maxSlots  = 1 << 28 // the limit of timers of a wheel.Core
)

type chunk[C any] struct {
	slots [chunkSize]slot[C]
	notes [chunkSize]note

	born *[chunkSize]uint32          // the step of Track
	held *[chunkSize][Evicted]uint32 // by reason - 1: the step of a verdict that kept the connection; 0: none
	raws *[chunkSize]syscall.RawConn // sockets to read from the kernel
}

// slot is the place of a connection: 24 bytes if C is a pointer.
type slot[C any] struct {
	c     C
	entry *Entry   // nil: the connection has ended
	timer wheel.ID // while it waits: fires in the step in which a reason may be due
}

// note is further state of each connection.
type note struct {
	state  state
	missed uint8 // consecutive missed pings
	kept   uint8 // a bit by reason - 1: held is the step in which it was kept, not the end of a KeepFor
}

type state uint8

const (
	waiting state = iota // for its timer
	queued               // for a worker
	asked                // the callback is running for it
	phase         = 3    // the mask of the states above

	pinging      state = 4  // a ping waits for its pong
	awaitingRead state = 8  // Handshake is set and nothing was read yet
	untracked    state = 16 // Untrack was called while it was asked
	handed       state = 32 // and the connection was hijacked: it must not be closed
)

func (n *note) phase() state    { return n.state & phase }
func (n *note) enter(s state)   { n.state = n.state&^phase | s }
func (n *note) is(s state) bool { return n.state&s != 0 }
func (n *note) set(s state)     { n.state |= s }
func (n *note) clear(s state)   { n.state &^= s }

func (s *slots[C]) at(i uint32) (*chunk[C], uint32) { return s.chunks[i/chunkSize], i % chunkSize }

func (s *slots[C]) slot(i uint32) *slot[C] { return &s.chunks[i/chunkSize].slots[i%chunkSize] }

func (s *slots[C]) note(i uint32) *note { return &s.chunks[i/chunkSize].notes[i%chunkSize] }

// take returns the index of a free slot, and false if there is none.
func (s *slots[C]) take() (uint32, bool) {
	if len(s.free) == 0 && !s.grow() {
		return 0, false
	}
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.taken++
	return i, true
}

func (s *slots[C]) grow() bool {
	first := uint32(len(s.chunks) * chunkSize)
	if first >= maxSlots {
		return false
	}
	c := new(chunk[C])
	if s.aged {
		c.born = new([chunkSize]uint32)
	}
	s.chunks = append(s.chunks, c)
	for i := range uint32(chunkSize) {
		s.free = append(s.free, first+chunkSize-1-i)
	}
	return true
}

// vacate frees a slot, and with the last one the memory, if that is more than a
// chunk.
func (s *slots[C]) vacate(i uint32) {
	s.taken--
	if s.taken == 0 && len(s.chunks) > 1 {
		s.chunks, s.free = nil, nil
		return
	}
	c, at := s.at(i)
	c.slots[at], c.notes[at] = slot[C]{}, note{}
	if c.held != nil {
		c.held[at] = [Evicted]uint32{}
	}
	if c.raws != nil {
		c.raws[at] = nil
	}
	s.free = append(s.free, i)
}

// hold sets the step before which a reason is not due.
func (s *slots[C]) hold(i uint32, r Reason, until uint64) { s.note(i).kept &^= s.setHeld(i, r, until) }

// keep sets the step in which a new timeout began for a reason.
func (s *slots[C]) keep(i uint32, r Reason, from uint64) { s.note(i).kept |= s.setHeld(i, r, from) }

// setHeld stores the step and returns the reason's bit.
func (s *slots[C]) setHeld(i uint32, r Reason, step uint64) (bit uint8) {
	c, at := s.at(i)
	if c.held == nil {
		c.held = new([chunkSize][Evicted]uint32)
	}
	c.held[at][r-1] = max(uint32(step), 1)
	return 1 << (r - 1)
}

// release undoes hold or keep.
func (s *slots[C]) release(i uint32, r Reason) {
	if c, at := s.at(i); c.held != nil {
		c.held[at][r-1] = 0
	}
}

func (s *slots[C]) setRaw(i uint32, raw syscall.RawConn) {
	c, at := s.at(i)
	if c.raws == nil {
		if raw == nil {
			return
		}
		c.raws = new([chunkSize]syscall.RawConn)
	}
	c.raws[at] = raw
}

func (s *slots[C]) raw(i uint32) syscall.RawConn {
	if c, at := s.at(i); c.raws != nil {
		return c.raws[at]
	}
	return nil
}
