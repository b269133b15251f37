package wheel

// compactBlocks limits the work that one removal does for the slot in which it
// leaves a stale entry.
const compactBlocks = 2

// compact drops stale entries from a slot while more than half of its entries
// are stale, up to compactBlocks blocks at a time. It takes the first block and
// pushes the live entries back at the tail, so that every block gets its turn.
// On average a removal pays for about two entries.
func (h *hierarchy) compact(l *list) {
	for range compactBlocks {
		if l.stale*2 <= l.n {
			return
		}
		h.compactBlock(l)
	}
}

func (h *hierarchy) compactBlock(l *list) {
	hint := l.stale
	id, es := l.cut(&h.blocks)
	var buf [blockLen]entry
	alive := h.filter(&buf, es)
	l.append(&h.blocks, alive)
	h.blocks.give(id)
	if dropped := uint32(len(es) - len(alive)); dropped == 0 {
		hint /= 2 // it was wrong, or is true of another block: it must not cost a block each time
	} else {
		hint -= min(hint, dropped)
	}
	l.stale = min(hint, l.n)
}

// filter copies the entries of a block that are not stale to buf. It reads
// nodes all over memory, and every second entry may be stale, so no branch
// depends on a node, and the processor waits for many nodes at a time.
func (h *hierarchy) filter(buf *[blockLen]entry, es []entry) []entry {
	k := 0
	for _, e := range es {
		n := h.nodes.lookup(e.index())
		if n == nil {
			continue
		}
		buf[k] = e
		k += n.matches(e, h.wall)
	}
	return buf[:k]
}

// alive returns the entry's node and its state, or nil if the entry is stale.
func (h *hierarchy) alive(e entry) (n *node, s uint64) {
	n = h.nodes.lookup(e.index())
	if n == nil || n.matches(e, h.wall) == 0 {
		return nil, 0
	}
	return n, n.state.Load()
}
