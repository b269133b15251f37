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
	id, from, to := l.cut(&h.blocks)
	dropped := uint32(0)
	for _, e := range h.blocks.at(id).entries[from:to] {
		if n, _ := h.alive(e); n != nil {
			l.push(&h.blocks, e)
		} else {
			dropped++
		}
	}
	h.blocks.give(id)
	if dropped == 0 {
		hint /= 2 // the hint was wrong, or will be due with another block; let it not cost a block each time
	} else {
		hint -= min(hint, dropped)
	}
	l.stale = min(hint, l.n)
}

// alive returns the entry's node and its state, or nil if the entry is stale.
func (h *hierarchy) alive(e entry) (n *node, s uint64) {
	n = h.nodes.lookup(e.index())
	if n == nil || n.place != e.place() {
		return nil, 0
	}
	if s = n.state.Load(); !isLive(s) || n.wall() != h.wall {
		return nil, 0
	}
	return n, s
}
