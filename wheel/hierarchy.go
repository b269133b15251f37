package wheel

import "math/bits"

const (
	levels    = 8
	slotBits  = 6
	slotCount = 1 << slotBits
	slotMask  = slotCount - 1

	never = 1 << tickBits // a tick that no cursor reaches
)

// hierarchy sorts the timers of a table by tick, into 8 levels of 64 slots. It
// reads no clock and takes no lock.
//
// Compare a tick after the cursor with the cursor, in groups of 6 bits. The
// highest group that differs is the tick's level, and the value of that group
// is its slot. Therefore:
//
//   - every occupied slot is strictly after the cursor's group of its level, so
//     the first occupied slot of a level is the lowest bit of the level's
//     bitmap;
//   - lower levels are due before higher ones, so the next busy tick is the
//     start of the first slot of the lowest busy level;
//   - the cursor may move anywhere before the start of the next occupied slot,
//     and all entries stay in their slots;
//   - eight groups hold all 48 bits, so there is no maximum delay and no
//     overflow.
//
// When a slot is due, the cursor moves to the start of the slot, and the whole
// list of the slot moves to the work queue, where it is processed in bounded
// steps. A slot of level 0 holds the timers that are due at that tick. A slot
// of a higher level is spread over the slots below it (a cascade). An entry
// that is due when it is placed goes to the queue at once.
//
// Each entry refers to a node that must be checked when the slot is due.
// Placement, cascades and compaction may leave duplicates and stale entries, so
// a timer is due only if its node's state says so.
type hierarchy struct {
	nodes  *table
	blocks blocks
	wall   uint32 // the clock bit of the nodes: 0 or wallBit

	cursor  uint64         // every slot that starts at or before the cursor has been moved to the queue
	soonest uint64         // at most the start of any occupied slot, and the cursor while entries wait
	busy    [levels]uint64 // bit s of busy[l] is set if and only if slot s of level l has entries
	slots   [levels * slotCount]list
	queue   []work
	pending int // live nodes placed here

	// turn limits the entries of one list that are processed before the next
	// due slot is served. 0 means no limit, so timers fire strictly in the
	// order of their ticks.
	turn uint32

	touch func(index uint32) // if not nil, touches the value of a node that is about to expire

	cascades uint64 // slots spread over lower levels
}

func newHierarchy(nodes *table, now uint64, wall, turn uint32) hierarchy {
	return hierarchy{nodes: nodes, blocks: newBlocks(), wall: wall, cursor: now, soonest: never, turn: turn}
}

// locate returns the slot of a tick after the cursor.
func (h *hierarchy) locate(tick uint64) (slot uint) {
	level := uint(bits.Len64((tick^h.cursor)|slotMask)-1) / slotBits
	return level<<slotBits | uint(tick>>(slotBits*level))&slotMask
}

// startOf returns the first tick of an occupied slot.
func (h *hierarchy) startOf(slot uint) uint64 {
	shift := slotBits * (slot >> slotBits)
	above := h.cursor >> (shift + slotBits) << (shift + slotBits)
	return above | uint64(slot&slotMask)<<shift
}

// earliest returns the occupied slot that is due next.
func (h *hierarchy) earliest() (slot uint, start uint64, ok bool) {
	for level, busy := range h.busy {
		if busy != 0 {
			slot = uint(level)<<slotBits | uint(bits.TrailingZeros64(busy))
			return slot, h.startOf(slot), true
		}
	}
	return 0, never, false
}

// next returns a tick that is not after the earliest deadline, as placed. It is
// the cursor if a timer is due already.
func (h *hierarchy) next() (tick uint64, ok bool) {
	if h.pending == 0 {
		return 0, false
	}
	if len(h.queue) > 0 {
		return h.cursor, true
	}
	_, start, ok := h.earliest()
	return start, ok
}

// catchUp moves the cursor to now if no occupied slot starts at or before now,
// so that new timers are placed as low as possible.
func (h *hierarchy) catchUp(now uint64) {
	if h.cursor < now && now < h.soonest {
		h.cursor = now
	}
}

// add makes a dead node a timer for tick.
func (h *hierarchy) add(index uint32, n *node, generation uint32, tick uint64) {
	h.pending++
	n.setMeta(makeMeta(generation, h.wall))
	n.place = firstPlace(generation, tick)
	h.place(entryOf(index, n.place), tick)
	n.state.Store(liveState(tick, generation))
}

// insert places a live node at its tick and makes the entry the node's own, so
// the entry that it had before is now stale.
func (h *hierarchy) insert(index uint32, n *node, tick uint64) {
	n.place = replaced(n.place, tick)
	h.place(entryOf(index, n.place), tick)
}

// place puts an entry into the slot of its tick.
func (h *hierarchy) place(e entry, tick uint64) {
	if tick <= h.cursor {
		h.enqueueDue(e)
		return
	}
	slot := h.locate(tick)
	level := slot >> slotBits
	if l := &h.slots[slot]; l.room > 0 {
		l.put(e)
	} else {
		l.push(&h.blocks, e)
	}
	h.busy[level] |= 1 << (slot & slotMask)
	shift := slotBits * level
	h.soonest = min(h.soonest, tick>>shift<<shift)
}

// markStale must be called when the node's entry becomes stale: after its timer
// has ended, or before the node is placed again. s is the node's last state.
func (h *hierarchy) markStale(index uint32, n *node, s uint64) {
	tick := placedTick(s, n.place)
	if tick <= h.cursor {
		return // it waits in the queue
	}
	slot := h.locate(tick)
	l := &h.slots[slot]
	if l.n == 0 {
		return // it waits in the queue, during a cascade
	}
	if l.endsWith(entryOf(index, n.place)) { // the timer was removed right after it was added
		l.unput()
	} else {
		l.stale = min(l.stale+1, l.n)
		h.compact(l)
	}
	if l.n == 0 {
		l.release(&h.blocks)
		h.vacate(slot)
	}
}

// vacate must be called when a slot has no entries any more.
func (h *hierarchy) vacate(slot uint) {
	start := h.startOf(slot)
	h.busy[slot>>slotBits] &^= 1 << (slot & slotMask)
	if start == h.soonest && len(h.queue) == 0 {
		_, h.soonest, _ = h.earliest()
	}
}

// leave must be called when a node is no longer placed here. After the last
// node, all remaining entries are stale.
func (h *hierarchy) leave() {
	h.pending--
	if h.pending == 0 {
		h.clear()
	}
}

func (h *hierarchy) clear() {
	for level := range h.busy {
		for h.busy[level] != 0 {
			s := uint(bits.TrailingZeros64(h.busy[level]))
			h.busy[level] &= h.busy[level] - 1
			h.slots[uint(level)<<slotBits|s].release(&h.blocks)
		}
	}
	for i := range h.queue {
		h.queue[i].list.release(&h.blocks)
	}
	clear(h.queue)
	h.queue = h.queue[:0]
	h.soonest = never
}

// reset moves a live node to another tick, but ignores an earlier tick if
// earlier is false. If the new tick is later and of the same epoch, only the
// node's state changes. When the old entry is due, the state shows the new
// tick, so the entry is placed again.
func (h *hierarchy) reset(index uint32, n *node, tick uint64, earlier bool) {
	for {
		s := n.state.Load()
		old := stateTick(s)
		if tick < old && !earlier {
			return // an Extend without the lock has chosen a later tick
		}
		if !n.state.CompareAndSwap(s, withTick(s, tick)) {
			continue // an Extend came between
		}
		if tick < old || epoch(tick) != epoch(old) {
			h.markStale(index, n, s)
			h.insert(index, n, tick)
		}
		return
	}
}
