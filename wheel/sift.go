package wheel

// siftBlocks bounds the work that one removal does for the slot it leaves a stale entry in.
const siftBlocks = 2

// sift drops stale entries from a slot while more than half of it are stale, a block or two at a time: it takes the
// first block and pushes what is alive back at the tail, so that in the end every block has had its turn. On average a
// removal pays for about two entries.
func (h *hierarchy) sift(l *list) {
	for range siftBlocks {
		if l.stale*2 <= l.n {
			return
		}
		h.siftBlock(l)
	}
}

func (h *hierarchy) siftBlock(l *list) {
	hint := l.stale
	id, es := l.cut(&h.blocks)
	var buf [blockLen]entry
	alive := h.filter(&buf, es)
	l.append(&h.blocks, alive)
	h.blocks.give(id)
	if dropped := uint32(len(es) - len(alive)); dropped == 0 {
		hint /= 2 // the hint was wrong, or will be due with another block; let it not cost a block each time
	} else {
		hint -= min(hint, dropped)
	}
	l.stale = min(hint, l.n)
}

// filter copies those entries of a block to buf that are not stale. It looks at nodes all over memory, and every second
// may be stale: so it has no branch that depends on them, and the processor waits for many of them at a time.
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
