package wheel

// work is a list in the work queue: the list of a slot that is due.
type work struct {
	list
	start     uint64 // the slot's first tick; entries hold only the lower bits of their ticks, and start the upper bits
	kind      workKind
	check     bool   // cascades read the nodes too, not only the entries
	warm      bool   // the nodes of the first block have been touched
	processed uint32 // entries processed in this turn
}

type workKind uint8

const (
	expiring  workKind = iota // a slot of level 0
	immediate                 // timers that were due when they were placed
	cascading                 // a slot of a higher level, or one of a clock that was set back
)

// wideLevel is the first level with slots that span more than an epoch, where an
// entry does not hold its whole tick.
const wideLevel = placedBits/slotBits + 1

// enqueueDue puts an entry that is due already into the queue.
func (h *hierarchy) enqueueDue(e entry) {
	h.soonest = min(h.soonest, h.cursor)
	if k := len(h.queue); k == 0 || h.queue[k-1].kind != immediate {
		h.queue = append(h.queue, work{kind: immediate})
	}
	h.queue[len(h.queue)-1].push(&h.blocks, e)
}

// takeDueSlot moves the cursor to the next occupied slot that starts at or
// before now, and the list of that slot to the front of the queue. If there is
// no such slot, the cursor moves to now.
func (h *hierarchy) takeDueSlot(now uint64) bool {
	slot, start, ok := h.earliest()
	if !ok || start > now {
		h.cursor = max(h.cursor, now)
		if len(h.queue) == 0 {
			h.soonest = start
		}
		return false
	}
	w := work{list: h.slots[slot], start: start}
	h.cursor = start
	h.slots[slot] = list{}
	h.busy[slot>>slotBits] &^= 1 << (slot & slotMask)
	if level := slot >> slotBits; level > 0 {
		w.kind = cascading
		w.check = level >= wideLevel || w.stale*4 > w.n
		h.cascades++
	}
	h.queue = append(h.queue, work{})
	copy(h.queue[1:], h.queue)
	h.queue[0] = w
	return true
}

// expire finds a timer that is due at now and ends it: from now on it counts as
// fired, and the caller frees the node. expire decrements budget for each entry
// that it examines. If ok is false and budget is not 0, no timer is due.
func (h *hierarchy) expire(now uint64, budget *int) (index uint32, tick uint64, ok bool) {
	for *budget > 0 {
		if len(h.queue) == 0 && !h.takeDueSlot(now) {
			return 0, 0, false
		}
		if h.queue[0].kind == cascading {
			h.cascade(now, budget)
			continue
		}
		w := &h.queue[0]
		if !w.warm || w.first == 0 {
			h.warmUp(w)
		}
		e := w.pop(&h.blocks)
		*budget--
		h.endStep(now, 1)
		if index, tick, ok = h.expireEntry(e, h.cursor); ok {
			return index, tick, true
		}
	}
	return 0, 0, false
}

// warmUp loads the nodes of the first block's entries into the cache. The
// expiries themselves are atomic operations, which wait for one node after the
// other, whereas here the processor waits for all of them at once.
func (h *hierarchy) warmUp(w *work) {
	w.warm = true
	for _, e := range h.blocks.at(w.head).entries[w.first:w.stop()] {
		if n := h.nodes.lookup(e.index()); n != nil {
			n.state.Load()
			if h.touch != nil {
				h.touch(e.index())
			}
		}
	}
}

// endStep removes the first list of the queue if it is empty. Otherwise, if its
// turn is over, the list goes to the back of the queue, and the next due slot
// comes to the front.
func (h *hierarchy) endStep(now uint64, entries uint32) {
	w := &h.queue[0]
	if w.n == 0 {
		k := copy(h.queue, h.queue[1:])
		h.queue[k] = work{} // so that it does not keep a block's memory
		h.queue = h.queue[:k]
		return
	}
	w.processed += entries
	if h.turn == 0 || w.processed < h.turn {
		return
	}
	w.processed = 0
	if k := len(h.queue); k > 1 {
		first := *w
		copy(h.queue, h.queue[1:])
		h.queue[k-1] = first
	}
	h.takeDueSlot(now)
}

// expireEntry ends the timer of an entry if it is due at now, and places the
// entry again if the timer was extended.
func (h *hierarchy) expireEntry(e entry, now uint64) (index uint32, tick uint64, ok bool) {
	index = e.index()
	n, s := h.alive(e)
	for n != nil {
		tick = stateTick(s)
		if tick > now {
			h.insert(index, n, tick)
			break
		}
		if n.kill(s) {
			return index, tick, true
		}
		s = n.state.Load() // an Extend came between: the timer is live, and due later
	}
	return 0, 0, false
}
