package wheel

import "sync/atomic"

// A node is all the hierarchy knows of a timer: two words and no pointer, so that the garbage collector never looks at
// a node, however many there are. The value stands in a parallel chunk (see values).
//
// Invariants, for a live node under its shard's lock:
//
//   - an entry that matches the mark stands in the slot where the placed tick belongs, or waits in the work queue;
//   - the placed tick is never after the tick of the state: a timer may be looked at too soon, never too late;
//   - both lie in the same epoch (the bits above placedBits), so that the mark need not hold those bits.
type node struct {
	// state is the truth: when the timer is due and whether it is pending. It is written under the shard's lock, but
	// for one case: Extend moves a live timer's tick forward by a CAS without the lock. Whoever ends a timer (expiry,
	// Remove) must therefore win the word by CAS or Swap, and exactly one side wins.
	state atomic.Uint64

	// mark says which generation of the node is alive and which entry in the slots is its own. It is written under the
	// lock; Extend reads it without.
	mark atomic.Uint64
}

// state: 48 bits of tick, the low 15 bits of the generation, 1 live. A dead node keeps the free list's link in the
// tick's place. The generation bits are there for Extend's CAS: a word that was read for one timer does not match that
// of its successors in the same node, unless exactly a multiple of 32,768 of them came and went between the load and
// the CAS, and the last one is due at the very same tick.
const (
	tickBits = 48
	maxTick  = 1<<tickBits - 1

	stateLive       = 1
	stateGenBits    = 15
	stateGenMask    = 1<<stateGenBits - 1
	stateTickShift  = 1 + stateGenBits
	stateBelowTicks = 1<<stateTickShift - 1
)

func liveState(tick uint64, generation uint32) uint64 {
	return tick<<stateTickShift | uint64(generation&stateGenMask)<<1 | stateLive
}

// deadState keeps link, the free list's next cell.
func deadState(link uint32) uint64 { return uint64(link) << stateTickShift }

func stateTick(s uint64) uint64 { return s >> stateTickShift }
func isLive(s uint64) bool      { return s&stateLive != 0 }

// isLiveAs reports whether s is the state of a pending timer whose generation may be this one.
func isLiveAs(s uint64, generation uint32) bool {
	return s&stateBelowTicks == uint64(generation&stateGenMask)<<1|stateLive
}

// withTick returns the live state s moved to another tick.
func withTick(s, tick uint64) uint64 { return tick<<stateTickShift | s&stateBelowTicks }

// mark: 28 bits of generation, 1 wall, 5 of placement number, 30 of placed tick.
//
// An entry in a slot is the same word with the node's index in the generation's place. So it says which node, at which
// tick and by which of the node's placements, and it is stale as soon as its lower 36 bits are no longer the node's.
// The number is short and wraps. A stale entry that matches again by accident is harmless: it leads to a live timer,
// which is then judged by its state, as through any other entry.
const (
	placedBits = 30
	placedMask = 1<<placedBits - 1
	numberBits = 5
	numberMask = 1<<numberBits - 1
	wallBit    = 1 << (placedBits + numberBits)

	entryShift = placedBits + numberBits + 1
	entryMask  = 1<<entryShift - 1 // what a mark and its entry have in common
)

// entry is an index (28 bits) over the lower 36 bits of the mark of its node.
type entry uint64

func (e entry) index() uint32  { return uint32(e >> entryShift) }
func (e entry) placed() uint64 { return uint64(e) & placedMask }

func entryOf(index uint32, mark uint64) entry {
	return entry(uint64(index)<<entryShift | mark&entryMask)
}

// matches reports whether e is the entry of the node's latest placement.
func (e entry) matches(mark uint64) bool { return (uint64(e)^mark)&entryMask == 0 }

func markGeneration(m uint64) uint32 { return uint32(m >> entryShift) }
func isWall(m uint64) bool           { return m&wallBit != 0 }

// replaced returns the mark of the next placement of the same timer, at tick, by the clock that wall says (0 or
// wallBit).
func replaced(m, tick, wall uint64) uint64 {
	number := (m>>placedBits + 1) & numberMask
	return m&^entryMask | wall | number<<placedBits | tick&placedMask
}

// reborn returns the mark of a new timer in the node: a new generation, the placement numbers go on.
func reborn(m uint64, generation uint32) uint64 {
	return uint64(generation)<<entryShift | m&entryMask
}

// placedTick joins the mark's placed bits to the epoch, which it shares with the state's tick.
func placedTick(s, m uint64) uint64 { return epoch(stateTick(s)) | m&placedMask }

// epoch is the part of a tick that neither marks nor entries hold.
func epoch(tick uint64) uint64 { return tick &^ placedMask }
