package textbook

// Timer is a timer of one wheel. The caller sets Call; the wheel sets the rest.
type Timer struct {
	Call func() // for the caller of Tick: the wheel does not call it

	Ring, Slot int // where the timer is, or was last
	Rounds     int // in a Ring: how often the hand must still pass the timer
	Due        int // in Hands: the tick at which the timer is due

	list       *list // the slot; nil means that the timer is not pending
	next, prev *Timer
}

// list is a slot: a doubly linked list, so that a timer leaves it in O(1).
type list struct{ first *Timer }

func (l *list) push(t *Timer) {
	t.list, t.prev, t.next = l, nil, l.first
	if l.first != nil {
		l.first.prev = t
	}
	l.first = t
}

func (t *Timer) unlink() {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		t.list.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.list, t.prev, t.next = nil, nil, nil
}
