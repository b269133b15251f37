package textbook

// Hands is the wheel of several hands, like a clock: a ring of seconds, one of
// minutes, one of hours. When the hand of a ring completes a turn, the hand of
// the next ring moves by one slot, and the timers of that slot move to lower
// rings. Articles call this demotion or cascade.
//
// This is scheme 7 of Varghese and Lauck. The timers of Linux and of Kafka are
// variants. Add, Remove and Move are O(1). A timer moves at most once for each
// ring, and no tick looks at a timer that stays in its slot. A delay that is
// longer than Range waits in the highest ring, where its slot comes up once in
// each turn.
type Hands struct {
	rings []ring   // the finest first
	now   int      // ticks so far; it gives the positions of all hands
	n     int      // pending timers
	due   []*Timer // the result of the last Tick, kept for its memory
}

type ring struct {
	slots []list
	unit  int // ticks between two moves of the hand: one turn of the ring below
	span  int // the longest delay that fits: unit * len(slots)
}

// NewHands returns an empty wheel with a ring for each size, the finest first:
// NewHands(60, 60, 24) is a clock with ticks of a second. All hands stand at
// slot 0. There must be two rings or more: with one, use a Ring.
func NewHands(sizes ...int) *Hands {
	if len(sizes) < 2 {
		panic("textbook: NewHands needs two rings or more")
	}
	h := &Hands{}
	unit := 1
	for _, size := range sizes {
		h.rings = append(h.rings, ring{make([]list, size), unit, unit * size})
		unit *= size
	}
	return h
}

// Range returns the longest delay for which the rings have room: the product of
// their sizes.
func (h *Hands) Range() int { return h.rings[len(h.rings)-1].span }

// Add makes t due after delay ticks. t must not be pending.
func (h *Hands) Add(t *Timer, delay int) {
	t.Due = h.now + max(delay, 1)
	h.place(t)
	h.n++
}

// place puts t into the lowest ring that has room for the rest of its delay.
//
// In the ring of unit 1, the hand reaches the slot when t is due. In a higher
// ring, it reaches the slot with its last move before t is due. Then 1 to unit
// ticks are left, which fit into the ring below.
func (h *Hands) place(t *Timer) {
	left, top := t.Due-h.now, len(h.rings)-1
	t.Ring = 0
	for t.Ring < top && left > h.rings[t.Ring].span {
		t.Ring++
	}
	r := &h.rings[t.Ring]
	move := t.Due // the move of the hand, counted from the beginning
	if t.Ring > 0 {
		move = (t.Due - 1) / r.unit
	}
	t.Slot = move % len(r.slots)
	r.slots[t.Slot].push(t)
}

// Remove removes t, and reports whether it was pending.
func (h *Hands) Remove(t *Timer) bool {
	if t.list == nil {
		return false
	}
	t.unlink()
	h.n--
	return true
}

// Move makes t due delay ticks from now if it is pending. It reports whether t
// was pending.
func (h *Hands) Move(t *Timer, delay int) bool {
	if !h.Remove(t) {
		return false
	}
	h.Add(t, delay)
	return true
}

// Len returns the number of pending timers.
func (h *Hands) Len() int { return h.n }

// Tick moves the hand of the finest ring, and removes the timers of its slot:
// they are due. Then it moves the other hands whose time has come. The result
// is in no particular order, and valid until the next Tick.
func (h *Hands) Tick() (due []*Timer) {
	clear(h.due)
	h.due = h.due[:0]
	h.now++
	for slot := &h.rings[0].slots[h.now%len(h.rings[0].slots)]; slot.first != nil; {
		t := slot.first
		t.unlink()
		h.due = append(h.due, t)
	}
	h.n -= len(h.due)
	for _, r := range h.rings[1:] {
		if h.now%r.unit != 0 {
			break
		}
		h.demote(&r.slots[h.now/r.unit%len(r.slots)])
	}
	return h.due
}

// demote places the timers of a slot again, in lower rings.
func (h *Hands) demote(slot *list) {
	t := slot.first
	slot.first = nil
	for t != nil {
		next := t.next
		h.place(t)
		t = next
	}
}
