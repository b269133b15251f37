package wheel

import "sync/atomic"

// A node is all the hierarchy knows of a timer: 16 bytes and no pointer, so that the garbage collector never looks at a
// node, however many there are. The value stands in a parallel chunk (see values).
//
// Invariants, for a live node under its shard's lock:
//
//   - an entry that matches the node stands in the slot where the placed tick belongs, or waits in the work queue;
//   - the placed tick is never after the tick of the state: a timer may be looked at too soon, never too late;
//   - both lie in the same epoch (the bits above placedBits), so that neither entry nor node need hold those bits.
type node struct {
	// state is the truth: when the timer is due and whether it is pending. It is written under the shard's lock, but
	// for one case: Extend moves a live timer's tick forward by a CAS without the lock. Whoever ends a timer (expiry,
	// Remove) must therefore win the word by CAS or Swap, and exactly one side wins.
	state atomic.Uint64

	// kin is what Extend needs to know besides, and changes seldom: the upper bits of the generation, and the clock.
	// It is written under the lock, before a state that needs it; Extend reads it without, after the state.
	kin atomic.Uint32

	// place tells the node's own entry from stale ones. In a dead node it is the free list's link. Read and written under
	// the lock.
	place uint32
}

// state: 48 bits of tick, the low 15 bits of the generation, 1 live. A dead node has no tick.
//
// Extend's CAS is guarded by the whole word, kin is compared before it. So it could mistake a timer for another only if,
// between the load and the CAS, exactly a multiple of 32,768 timers came and went in the same node, and the last of
// them is due at the very same tick.
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

// deadState is what becomes of the live state s. The generation stays: the next one follows on it.
func deadState(s uint64) uint64 { return s & (stateGenMask << 1) }

func stateTick(s uint64) uint64 { return s >> stateTickShift }
func isLive(s uint64) bool      { return s&stateLive != 0 }

// withTick returns the live state s moved to another tick.
func withTick(s, tick uint64) uint64 { return tick<<stateTickShift | s&stateBelowTick }

// kin: the 13 upper bits of the generation, 1 wall: the timer stands in the hierarchy of the wall clock.
const wallBit = 1

func makeKin(generation, wall uint32) uint32 { return generation>>stateGenBits<<1 | wall }

// setKin writes kin if it changes: once in 32,768 timers, or when the clock is another.
func (n *node) setKin(kin uint32) {
	if n.kin.Load() != kin {
		n.kin.Store(kin)
	}
}

// generationOf joins the generation from its two words.
func generationOf(s uint64, kin uint32) uint32 {
	return kin>>1<<stateGenBits | uint32(s>>1)&stateGenMask
}

// carries reports whether the node holds the pending timer of this ID. The state is read before kin: a live state says
// that kin is as new as itself, or newer.
func (n *node) carries(id ID) bool {
	s := n.state.Load()
	return isLive(s) && generationOf(s, n.kin.Load()) == id.generation()
}

// end ends the node's timer, whatever Extend does meanwhile, and returns its last state. It needs the lock.
func (n *node) end() (last uint64) {
	return n.state.Swap(deadState(n.state.Load())) // Extend does not change the generation
}

// kill ends the node's timer, unless its state is no longer s: then it reports false.
func (n *node) kill(s uint64) bool { return n.state.CompareAndSwap(s, deadState(s)) }

// generation needs the lock.
func (n *node) generation() uint32 { return generationOf(n.state.Load(), n.kin.Load()) }

// wall returns wallBit or 0: the clock in whose hierarchy the timer stands.
func (n *node) wall() uint32 { return n.kin.Load() & wallBit }

// place: 5 bits of placement number, 27 of placed tick. An entry in a slot is the same word with the node's index above
// it. So it says which node, at which tick and by which of the node's placements, and it is stale as soon as its lower
// half is no longer the node's. The number begins with the generation, so that the node's next timer has another, and
// goes up with every placement. It is short and wraps; a stale entry that matches again by accident is harmless: it
// leads to a live timer, which is then judged by its state, as through any other entry.
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

// placedTick is the tick at which the node's own entry stands; s is its state.
func placedTick(s uint64, place uint32) uint64 {
	return epoch(stateTick(s)) | uint64(place)&placedMask
}

// epoch is the part of a tick that neither places nor entries hold.
func epoch(tick uint64) uint64 { return tick &^ placedMask }

// entry is an index over the place of its node.
type entry uint64

func entryOf(index, place uint32) entry { return entry(index)<<entryShift | entry(place) }

func (e entry) index() uint32  { return uint32(e >> entryShift) }
func (e entry) place() uint32  { return uint32(e) }
func (e entry) placed() uint64 { return uint64(e) & placedMask }

// matches returns 1 if the entry is the node's own in the hierarchy of the clock wall, or 0 if it is stale. It has no
// branches. It needs the lock.
func (n *node) matches(e entry, wall uint32) int {
	differ := (n.place ^ e.place()) | (n.kin.Load()^wall)&wallBit | uint32(^n.state.Load())&stateLive
	return int((uint64(differ) - 1) >> 63)
}
