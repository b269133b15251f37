package classic

import (
	"sync"
	"time"
)

// wheel is the common part of Rounds, Hands and Buckets: timers in lists under
// a lock.
type wheel struct {
	driver
	when func(d time.Duration) int64 // the deadline after d, in the unit of the wheel

	mu    sync.Mutex                  // guards everything below, and the fields of the design
	place func(*Timer) (earlier bool) // puts a timer into its list; earlier: the goroutine must wake up earlier
	n     int                         // pending timers
}

// Add calls f after d.
func (w *wheel) Add(d time.Duration, f func()) *Timer {
	t := &Timer{f: f, when: w.when(d)}
	w.mu.Lock()
	w.n++
	earlier := w.place(t)
	w.mu.Unlock()
	if earlier {
		w.hurry()
	}
	return t
}

// Remove removes t, and reports whether it was pending.
func (w *wheel) Remove(t *Timer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.list == nil {
		return false
	}
	t.unlink()
	w.n--
	return true
}

// Reset makes t fire after d from now if it is pending. It reports whether t
// was pending.
func (w *wheel) Reset(t *Timer, d time.Duration) bool {
	when := w.when(d)
	w.mu.Lock()
	if t.list == nil {
		w.mu.Unlock()
		return false
	}
	t.unlink()
	t.when = when
	earlier := w.place(t)
	w.mu.Unlock()
	if earlier {
		w.hurry()
	}
	return true
}

// Len returns the number of pending timers.
func (w *wheel) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

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
