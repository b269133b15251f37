package classic

// Timer is a timer of one of the wheels: Rounds, Hands or Buckets.
type Timer struct {
	next, prev *Timer
	list       *list // the slot of the timer; nil means that it fired or was removed
	f          func()
	when       int64 // the deadline: in ticks, or in nanoseconds in Buckets
	rounds     int64 // turns of the wheel that it still has to wait; only Rounds uses it
}

// list is a slot: a doubly linked list of timers. The zero list is empty.
type list struct {
	first *Timer
}

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

// chain is a queue of timers that were taken out. Their list is nil, so no
// other code follows their links.
type chain struct {
	first, last *Timer
	n           int
}

func (c *chain) add(t *Timer) {
	if c.last == nil {
		c.first = t
	} else {
		c.last.next = t
	}
	c.last = t
	c.n++
}

func (c *chain) call() {
	for t := c.first; t != nil; {
		next := t.next
		t.next = nil
		t.f()
		t = next
	}
}
