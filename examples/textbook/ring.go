package textbook

// Ring is the wheel with rounds: one ring of slots, and a hand that moves by
// one slot with each tick. A ring of n slots holds delays of 1 to n ticks. A
// timer with a longer delay goes into a slot too, with the number of rounds for
// which the hand must pass it.
//
// This is scheme 6 of Varghese and Lauck, and the design of Netty's
// HashedWheelTimer, of go-zero's TimingWheel, and of most wheels in articles.
// Add, Remove and Move are O(1). Tick looks at every timer of its slot, so each
// turn of the hand looks at every timer of the ring.
type Ring struct {
	slots []list
	hand  int      // the slot of the last Tick
	n     int      // pending timers
	due   []*Timer // the result of the last Tick, kept for its memory
}

// NewRing returns an empty ring. Its hand stands at slot 0.
func NewRing(slots int) *Ring { return &Ring{slots: make([]list, slots)} }

// Place returns the slot and the rounds of a timer that is added now.
//
// The hand reaches the slot after delay % slots ticks, or after a whole turn if
// that is 0. The delay - 1 is for that case. Articles often divide the delay
// itself. If their hand moves before the slot is handled, as here, a delay of
// exactly one turn then takes two. Other delays have the same rounds.
func (r *Ring) Place(delay int) (slot, rounds int) {
	return (r.hand + delay) % len(r.slots), (delay - 1) / len(r.slots)
}

// Add makes t due after delay ticks. t must not be pending.
func (r *Ring) Add(t *Timer, delay int) {
	t.Slot, t.Rounds = r.Place(max(delay, 1))
	r.slots[t.Slot].push(t)
	r.n++
}

// Remove removes t, and reports whether it was pending.
func (r *Ring) Remove(t *Timer) bool {
	if t.list == nil {
		return false
	}
	t.unlink()
	r.n--
	return true
}

// Move makes t due delay ticks from now if it is pending. It reports whether t
// was pending.
func (r *Ring) Move(t *Timer, delay int) bool {
	if !r.Remove(t) {
		return false
	}
	r.Add(t, delay)
	return true
}

// Len returns the number of pending timers.
func (r *Ring) Len() int { return r.n }

// Tick moves the hand to the next slot and removes the timers that are due from
// the ring. The result is in no particular order, and valid until the next
// Tick.
func (r *Ring) Tick() (due []*Timer) {
	clear(r.due)
	r.due = r.due[:0]
	r.hand = (r.hand + 1) % len(r.slots)
	for t := r.slots[r.hand].first; t != nil; {
		next := t.next
		if t.Rounds > 0 {
			t.Rounds--
		} else {
			t.unlink()
			r.due = append(r.due, t)
		}
		t = next
	}
	r.n -= len(r.due)
	return r.due
}
