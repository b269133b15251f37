package classic

import "time"

// Hands is the clock of four hands: rings of 60 seconds, 60 minutes, 24 hours
// and 365 days. The hand of a ring moves when the hand of the ring below
// completes a turn. Then the timers of its slot move to the rings below. This
// is scheme 7 of Varghese and Lauck ("Hashed and Hierarchical Timing Wheels",
// 1987), with their own example of a clock. A fifth ring of 1000 milliseconds
// stands below the four, so that the lateness can be compared. Add and Remove
// are O(1). A timer moves at most four times, and once more for each year of
// its delay.
//
// A timer is never early, and late by up to one millisecond. The goroutine
// wakes up every millisecond, even if no timer is pending.
type Hands struct {
	wheel
	dial dial // guarded
}

// dial contains the rings of a clock. The caller moves its time. Times are
// milliseconds.
type dial struct {
	at      int64 // all timers up to this time are done
	millis  [second]list
	seconds [60]list
	minutes [60]list
	hours   [24]list
	days    [365]list
}

const (
	second = 1000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// NewHands returns an empty clock and starts its goroutine.
func NewHands() *Hands {
	h := &Hands{wheel: wheel{driver: newDriver()}}
	h.when, h.place = h.millisOf, h.dial.set
	h.start(h.pass)
	return h
}

// millisOf returns now + d, rounded up.
func (h *Hands) millisOf(d time.Duration) int64 {
	const up = time.Millisecond - 1
	return int64(after(after(h.now(), d), up) / time.Millisecond)
}

// pass moves the hands to the present time. It returns the time until the next
// millisecond.
func (h *Hands) pass() time.Duration {
	for {
		h.mu.Lock()
		wait := time.Duration(h.dial.at+1)*time.Millisecond - h.now()
		if wait > 0 {
			h.mu.Unlock()
			return wait
		}
		due := h.dial.step()
		h.n -= due.n
		h.mu.Unlock()
		due.call()
	}
}

// set places a timer. If its time is past, the timer is due with the next
// millisecond.
func (c *dial) set(t *Timer) (earlier bool) {
	t.when = max(t.when, c.at+1)
	c.place(t)
	return false
}

// place puts t, which is not past, into a ring: the ring of the largest unit in
// which its time differs from the clock's. There its slot is still ahead of the
// hand.
func (c *dial) place(t *Timer) {
	switch w := t.when; {
	case w/second == c.at/second:
		c.millis[w%second].push(t)
	case w/minute == c.at/minute:
		c.seconds[w/second%60].push(t)
	case w/hour == c.at/hour:
		c.minutes[w/minute%60].push(t)
	case w/day == c.at/day:
		c.hours[w/hour%24].push(t)
	default:
		c.days[w/day%365].push(t)
	}
}

// step moves the clock by a millisecond and takes out the due timers.
func (c *dial) step() (due chain) {
	c.at++
	if c.at%day == 0 {
		c.spread(&c.days[c.at/day%365])
	}
	if c.at%hour == 0 {
		c.spread(&c.hours[c.at/hour%24])
	}
	if c.at%minute == 0 {
		c.spread(&c.minutes[c.at/minute%60])
	}
	if c.at%second == 0 {
		c.spread(&c.seconds[c.at/second%60])
	}
	for slot := &c.millis[c.at%second]; slot.first != nil; {
		t := slot.first
		t.unlink()
		due.add(t)
	}
	return due
}

// spread places the timers of a slot again, because the hand has reached the
// slot.
func (c *dial) spread(slot *list) {
	t := slot.first
	slot.first = nil
	for t != nil {
		next := t.next
		c.place(t)
		t = next
	}
}
