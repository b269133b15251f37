package wheel

import (
	"context"
	"sync"
	"time"
)

// Timer is one event, made by a method of [Timers], or a series of them, made by Every or Schedule. All methods may be
// called by any goroutine at any time, also from within its own callback but for StopWait.
//
// It is pending until its callback begins or its time is sent, so Stop and Reset can still prevent what has been handed over to a
// Config.Run that is busy. A series is pending, in this sense, until it ends.
type Timer struct {
	C <-chan time.Time // NewTimer: where the time is sent; otherwise nil

	wheel *timerWheel // immutable; nil: not made by a Timers
	act   action      // immutable

	mu     sync.Mutex // guards everything below; taken before that of a shard, and not held while foreign code runs
	id     ID         // of the timer on the wheel; 0: none, or its callback has begun
	runs   int32      // callbacks that are running
	armed  bool       // pending: it holds a room; for a single event exactly if id is not 0
	killed bool
	quiet  chan struct{} // if not nil, closed when runs reaches 0
}

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

// Stop keeps the Timer from firing. It returns true if it did so: the function of AfterFunc will not begin, a series is
// over, and from C nothing will be received, as Stop takes back what was sent but not yet received. It returns false if
// the function has begun or the time was received, or the Timer was stopped already. It does not wait for a function that
// runs: StopWait does.
func (t *Timer) Stop() bool {
	t.mustBeMade("Stop")
	return t.halt()
}

func (t *Timer) halt() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.haltLocked()
}

func (t *Timer) haltLocked() (was bool) {
	was = t.armed
	t.disarmLocked()
	return t.drainLocked() || was
}

// Reset makes the Timer fire after d from now, also if it has fired or was stopped before. It returns true if it was
// pending, or its time was sent but not yet received: then the old deadline has no effect. If it returns false, an
// earlier call of the function may still run; the next one does not wait for it.
//
// For a timer of Every d is the new period, and Reset panics if it is not positive; the first run comes after d, but not
// before one that is running has ended. For one of Schedule the next run comes after d, and the schedule goes on from there.
//
// If there is no room for the Timer, or the Timers is closed, Reset leaves it stopped.
func (t *Timer) Reset(d time.Duration) bool {
	t.mustBeMade("Reset")
	s, isSeries := t.act.(series)
	if isSeries {
		s.mustAllow(d)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.killed:
		return false
	case isSeries:
		return s.resetLocked(t, d)
	case t.id != 0 && t.wheel.Reset(t.id, d): // so nothing was sent
		return true
	}
	was := t.armed
	was = t.drainLocked() || was
	_ = t.armLocked(d)
	return was
}

// StopWait stops the Timer and waits until no call of its function is running, or until ctx is done: then it returns the
// context's error. Once it has returned nil, the function neither runs nor will, unless the Timer is reset after that; a
// Reset by the function itself, or by others while StopWait waits, it undoes. It must not be called by that function, for
// which it would wait.
func (t *Timer) StopWait(ctx context.Context) error {
	t.mustBeMade("StopWait")
	for {
		quiet := t.haltUnlessQuiet()
		if quiet == nil {
			return nil
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// haltUnlessQuiet stops the Timer. It returns nil if no callback is running, otherwise a channel that is closed then.
func (t *Timer) haltUnlessQuiet() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.haltLocked()
	if t.runs == 0 {
		return nil
	}
	if t.quiet == nil {
		t.quiet = make(chan struct{})
	}
	return t.quiet
}

// Kill is Stop for good: every later Reset does nothing and returns false, also one that the function makes while it
// runs.
func (t *Timer) Kill() bool {
	t.mustBeMade("Kill")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed = true
	return t.haltLocked()
}

func (t *Timer) mustBeMade(method string) {
	if t.wheel == nil {
		panic("wheel: " + method + " called on uninitialized Timer")
	}
}

// start arms a new Timer. It locks, because the Timer may fire at once.
func (t *Timer) start(d time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.armLocked(d)
}

// armLocked makes the Timer fire after d, instead of when it stood. If it returns an error, the Timer is stopped.
func (t *Timer) armLocked(d time.Duration) error {
	t.withdrawLocked()
	if err := t.admitLocked(); err != nil {
		return err
	}
	id, err := t.wheel.TryAdd(d, t)
	return t.placedLocked(id, err)
}

// armAtLocked is armLocked by the wall clock.
func (t *Timer) armAtLocked(at time.Time) error {
	t.withdrawLocked()
	if err := t.admitLocked(); err != nil {
		return err
	}
	id, err := t.wheel.addAt(at, t)
	return t.placedLocked(id, err)
}

func (t *Timer) placedLocked(id ID, err error) error {
	if t.id = id; err != nil {
		t.releaseLocked()
	}
	return err
}

// admitLocked finds room for the Timer, if it has none.
func (t *Timer) admitLocked() error {
	if !t.armed && !t.wheel.rooms.reserve() {
		return t.wheel.shards[0].refusal()
	}
	t.armed = true
	return nil
}

func (t *Timer) releaseLocked() {
	if t.armed {
		t.armed = false
		t.wheel.rooms.free(1)
	}
}

// withdrawLocked takes the Timer from the wheel. If it has been claimed there, the claim finds another ID and does nothing.
func (t *Timer) withdrawLocked() {
	if t.id != 0 {
		t.wheel.Remove(t.id)
		t.id = 0
	}
}

func (t *Timer) disarmLocked() {
	t.withdrawLocked()
	t.releaseLocked()
}

func (t *Timer) drainLocked() bool {
	switch c := t.act.(type) {
	case sender:
		return c.drain()
	case *ticks:
		return c.sender.drain()
	}
	return false
}

// take ends a single event. It returns false if the Timer was stopped or reset since it was due.
func (t *Timer) take(id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeLocked(id)
}

func (t *Timer) takeLocked(id ID) bool {
	if t.id != id {
		return false
	}
	t.id = 0
	t.releaseLocked()
	return true
}

// begin is take for a single event whose callback is then called; end must follow.
func (t *Timer) begin(id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.takeLocked(id) {
		return false
	}
	t.runs++
	return true
}

func (t *Timer) end() {
	t.mu.Lock()
	t.endLocked()
	t.mu.Unlock()
}

func (t *Timer) endLocked() {
	if t.runs--; t.runs == 0 && t.quiet != nil {
		close(t.quiet)
		t.quiet = nil
	}
}
