package classic

// BucketTimer is a timer of Buckets.
type BucketTimer struct {
	next, prev *BucketTimer
	list       *list // the bucket of the timer; nil means that it fired or was removed
	f          func()
	when       int64 // the deadline, in nanoseconds
}

// list is a bucket: a doubly linked list of timers. The zero list is empty.
type list struct {
	first *BucketTimer
}

func (l *list) push(t *BucketTimer) {
	t.list, t.prev, t.next = l, nil, l.first
	if l.first != nil {
		l.first.prev = t
	}
	l.first = t
}

func (t *BucketTimer) unlink() {
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
	first, last *BucketTimer
	n           int
}

func (c *chain) add(t *BucketTimer) {
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
