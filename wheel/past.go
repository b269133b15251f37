package wheel

// past holds what a hierarchy without turns was given for ticks before its cursor, in the order of those ticks: a binary
// heap. All of it comes before whatever stands at the cursor or after it.
type past []bygone

type bygone struct {
	tick  uint64
	entry entry
}

func (p *past) push(e entry, tick uint64) {
	*p = append(*p, bygone{tick, e})
	h := *p
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].tick <= h[i].tick {
			return
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

// pop needs a past that is not empty.
func (p *past) pop() bygone {
	h := *p
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
	*p = h
	if last == 0 {
		p.clear()
	}
	return first
}

// clear keeps the memory of a few.
func (p *past) clear() {
	*p = (*p)[:0]
	if cap(*p) > blockLen {
		*p = nil
	}
}
