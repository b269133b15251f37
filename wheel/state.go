package wheel

import "sync/atomic"

// A node is the hierarchy's record of a timer: 16 bytes without a pointer, so
// the garbage collector never scans nodes, however many there are. The value is
// stored in a parallel chunk (see values).
//
// Invariants, for a live node under its shard's lock:
//
//   - an entry that matches the node is in the slot where the placed tick
//     belongs, or waits in the work queue;
//   - the placed tick is never after the tick of the state, so a timer may be
//     examined too soon but never too late;
//   - both are in the same epoch (the bits above placedBits), so neither the
//     entry nor the node needs to hold those bits.
type node struct {
	// state decides when the timer is due and whether it is pending. It is
	// written under the shard's lock, with one exception: Extend moves the tick
	// of a live timer forward by a CAS without the lock. So code that ends a
	// timer (expiry, Remove) must change the word by CAS or Swap, so that
	// exactly one side wins.
	state atomic.Uint64

	// meta holds the other data that Extend reads: the upper bits of the
	// generation, and the clock. It changes rarely, and is written under the
	// lock, before a state that needs it. Extend reads it without the lock,
	// after the state.
	meta atomic.Uint32

	// place distinguishes the node's own entry from stale ones, and in a dead
	// node it is the link of the free list. It is read and written under the
	// lock.
	place uint32
}

// A state has 48 bits of tick, the low 15 bits of the generation, and 1 bit
// that is set while the timer is live. A dead node has no tick.
//
// Extend's CAS checks the whole word, and Extend compares meta before it. So
// Extend could confuse two timers only if, between its load and its CAS, a
// multiple of 32,768 timers used the node, and the last one is due at the same
// tick.
const (
	tickBits = 48
	maxTick  = 1<<tickBits - 1

	stateLive      = 1
	stateGenBits   = 15
	stateGenMask   = 1<<stateGenBits - 1
	stateTickShift = 1 + stateGenBits
	stateBelowTick = 1<<stateTickShift - 1
)

func liveState(tick uint64, generation uint32) uint64 {
	return tick<<stateTickShift | uint64(generation&stateGenMask)<<1 | stateLive
}

// deadState returns the state that follows the live state s. It keeps the
// generation, from which the next one is counted.
func deadState(s uint64) uint64 { return s & (stateGenMask << 1) }

func stateTick(s uint64) uint64 { return s >> stateTickShift }
func isLive(s uint64) bool      { return s&stateLive != 0 }

// withTick returns the live state s with another tick.
func withTick(s, tick uint64) uint64 { return tick<<stateTickShift | s&stateBelowTick }

// A meta has the 13 upper bits of the generation and 1 bit, wallBit, that is
// set if the timer is in the hierarchy of the wall clock.
const wallBit = 1

func makeMeta(generation, wall uint32) uint32 { return generation>>stateGenBits<<1 | wall }

// setMeta writes meta if it changes: once in 32,768 timers, or when the clock
// changes.
func (n *node) setMeta(meta uint32) {
	if n.meta.Load() != meta {
		n.meta.Store(meta)
	}
}

// generationOf returns the generation from its two parts.
func generationOf(s uint64, meta uint32) uint32 {
	return meta>>1<<stateGenBits | uint32(s>>1)&stateGenMask
}

// carries reports whether the node holds the pending timer of this ID. It reads
// the state before meta: if the state is live, meta is at least as new.
func (n *node) carries(id ID) bool {
	s := n.state.Load()
	return isLive(s) && generationOf(s, n.meta.Load()) == id.generation()
}

// end ends the node's timer, even if Extend changes it at the same time, and
// returns its last state. It needs the lock.
func (n *node) end() (last uint64) {
	return n.state.Swap(deadState(n.state.Load())) // Extend does not change the generation
}

// kill ends the node's timer. It reports false, and does nothing, if the state
// is no longer s.
func (n *node) kill(s uint64) bool { return n.state.CompareAndSwap(s, deadState(s)) }

// generation needs the lock.
func (n *node) generation() uint32 { return generationOf(n.state.Load(), n.meta.Load()) }

// wall returns wallBit if the timer is in the hierarchy of the wall clock,
// otherwise 0.
func (n *node) wall() uint32 { return n.meta.Load() & wallBit }

// A place has 5 bits of placement number and 27 bits of placed tick. An entry
// in a slot is the same word below the node's index, so an entry names a node,
// a tick, and one of the node's placements. It is stale as soon as its lower
// half differs from the node's place.
//
// The placement number starts with the generation, so the node's next timer has
// another number, and it grows with every placement. It is short and wraps, but
// a stale entry that matches again by accident is harmless: it leads to a live
// timer, and the state of that timer decides, as with any other entry.
const (
	placedBits = 27
	placedMask = 1<<placedBits - 1
	entryShift = 32
)

// firstPlace returns the place of a new timer, at tick.
func firstPlace(generation uint32, tick uint64) uint32 {
	return generation<<placedBits | uint32(tick)&placedMask
}

// replaced returns the place of a node's next placement, at tick.
func replaced(place uint32, tick uint64) uint32 {
	return (place>>placedBits+1)<<placedBits | uint32(tick)&placedMask
}

// placedTick returns the tick at which the node's own entry is placed. s is the
// node's state.
func placedTick(s uint64, place uint32) uint64 {
	return epoch(stateTick(s)) | uint64(place)&placedMask
}

// epoch returns the upper bits of a tick, which neither places nor entries
// hold.
func epoch(tick uint64) uint64 { return tick &^ placedMask }

// entry is the index of a node and, below it, the node's place.
type entry uint64

func entryOf(index, place uint32) entry { return entry(index)<<entryShift | entry(place) }

func (e entry) index() uint32  { return uint32(e >> entryShift) }
func (e entry) place() uint32  { return uint32(e) }
func (e entry) placed() uint64 { return uint64(e) & placedMask }

// matches returns 1 if the entry is the node's own in the hierarchy of the
// given clock, and 0 if it is stale. It has no branches, and needs the lock.
func (n *node) matches(e entry, wall uint32) int {
	differ := (n.place ^ e.place()) | (n.meta.Load()^wall)&wallBit | uint32(^n.state.Load())&stateLive
	return int((uint64(differ) - 1) >> 63)
}
