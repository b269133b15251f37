package wheel

// overdue holds the timers that a hierarchy without turns was given for ticks
// before its cursor, in the order of those ticks: a binary heap. All of them
// come before the timers at or after the cursor.
type overdue []overdueEntry

type overdueEntry struct {
	tick  uint64
	entry entry
}

func (o *overdue) push(e entry, tick uint64) {
	*o = append(*o, overdueEntry{tick, e})
	h := *o
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].tick <= h[i].tick {
			return
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

// pop must not be called on an empty heap.
func (o *overdue) pop() overdueEntry {
	h := *o
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h[child].tick < h[least].tick {
				least = child
			}
		}
		if least == i {
			break
		}
		h[least], h[i] = h[i], h[least]
		i = least
	}
	*o = h
	if last == 0 {
		o.clear()
	}
	return first
}

// clear keeps the memory of a small heap.
func (o *overdue) clear() {
	*o = (*o)[:0]
	if cap(*o) > blockLen {
		*o = nil
	}
}
