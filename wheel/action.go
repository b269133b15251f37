package wheel

import "time"

// action is the effect of a Timer when it is due. Its methods are called
// without a lock, with the ID that was due. If that is no longer the Timer's
// ID, the Timer was stopped or reset since, and the action must do nothing.
type action interface {
	direct() bool                      // fire is short and may run on the driver's goroutine
	fire(t *Timer, id ID)              // it is due
	lost(t *Timer, id ID, cause error) // it will not fire, because of ErrClosed or errDropped
}

// The actions of single events. For the Go compiler their types are pointers,
// so an action holds them without allocating.
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

func (s sender) direct() bool                      { return true }
func (s sender) lost(t *Timer, id ID, cause error) { t.take(id) }

func (s sender) fire(t *Timer, id ID) {
	t.mu.Lock()
	defer t.mu.Unlock() // after the time is sent: a Stop must find it in the channel
	if t.takeLocked(id) {
		s.send(time.Now())
	}
}

// send does not block: a receiver that is too slow misses a time.
func (s sender) send(now time.Time) {
	select {
	case s <- now:
	default:
	}
}

// drain removes a time that was sent but not received, and reports whether
// there was one.
func (s sender) drain() bool {
	select {
	case <-s:
		return true
	default:
		return false
	}
}

func (s sleeper) direct() bool         { return true }
func (s sleeper) fire(t *Timer, id ID) { s.lost(t, id, nil) }

func (s sleeper) lost(t *Timer, id ID, cause error) {
	if t.take(id) {
		s <- cause // does not block: c has a buffer
	}
}
