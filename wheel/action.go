package wheel

import "time"

// action is what a Timer does when it is due. Its methods are called without a lock, and with the ID that was due: if it
// is no longer the Timer's own, the Timer was stopped or reset meanwhile, and nothing is to be done.
type action interface {
	direct() bool                      // fire is short and may run on the driver's goroutine
	fire(t *Timer, id ID)              // it is due
	lost(t *Timer, id ID, cause error) // it will not fire, because of ErrClosed or errDropped
}

// The actions of single events. Their types are pointers to the Go compiler, so an action holds them without allocating.
type (
	callback func()         // AfterFunc
	sender   chan time.Time // NewTimer
	sleeper  chan error     // Sleep
)

func (f callback) direct() bool                      { return false }
func (f callback) lost(t *Timer, id ID, cause error) { t.take(id) }

func (f callback) fire(t *Timer, id ID) {
	if t.begin(id) {
		defer t.end()
		f()
	}
}

func (c sender) direct() bool                      { return true }
func (c sender) lost(t *Timer, id ID, cause error) { t.take(id) }

func (c sender) fire(t *Timer, id ID) {
	t.mu.Lock()
	defer t.mu.Unlock() // not before it is sent: who stops the Timer must find it in the channel
	if t.takeLocked(id) {
		c.send(time.Now())
	}
}

// send does not block: who is too slow to receive misses a time.
func (c sender) send(now time.Time) {
	select {
	case c <- now:
	default:
	}
}

// drain takes back what was sent but not received.
func (c sender) drain() bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (c sleeper) direct() bool         { return true }
func (c sleeper) fire(t *Timer, id ID) { c.lost(t, id, nil) }

func (c sleeper) lost(t *Timer, id ID, cause error) {
	if t.take(id) {
		c <- cause // has a buffer
	}
}
