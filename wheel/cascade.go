package wheel

// cascade spreads the first list of the queue over the slots where its entries
// belong now. It reads only the entries, sequentially, and no node, unless the
// list needs a check.
func (h *hierarchy) cascade(now uint64, budget *int) {
	w := h.queue[0] // a copy, because place may append to the queue
	entries := min(w.n, uint32(*budget))
	if h.turn != 0 {
		entries = min(entries, h.turn-w.processed)
	}
	above := epoch(w.start)
	for range entries {
		e := w.pop(&h.blocks)
		if w.check {
			h.replace(e)
		} else {
			h.place(e, above|e.placed())
		}
	}
	*budget -= int(entries)
	h.queue[0] = w
	h.endStep(now, entries)
}

// replace places an entry by the state of its node, and drops a stale entry.
func (h *hierarchy) replace(e entry) {
	n, s := h.alive(e)
	if n == nil {
		return
	}
	placed := placedTick(s, n.place)
	if tick := stateTick(s); tick > placed {
		h.insert(e.index(), n, tick)
		return
	}
	h.place(e, placed)
}

// rewind sets the cursor back to now, so every entry must be placed again, in
// bounded steps like any other work.
func (h *hierarchy) rewind(now uint64) {
	for i := range h.queue {
		h.queue[i].kind, h.queue[i].check = cascading, true
	}
	for slot, _, ok := h.earliest(); ok; slot, _, ok = h.earliest() {
		h.queue = append(h.queue, work{list: h.slots[slot], kind: cascading, check: true})
		h.slots[slot] = list{}
		h.busy[slot>>slotBits] &^= 1 << (slot & slotMask)
	}
	h.cursor = now
	h.soonest = never
	if len(h.queue) > 0 {
		h.soonest = now
	}
}
