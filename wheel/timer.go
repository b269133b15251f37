package wheel

import (
	"context"
	"sync"
	"time"
)

// Timer is one event, made by a method of [Timers], or a series of them, made by Every or ScheduleFunc. All methods may be
// called by any goroutine at any time, also from within its own callback but for StopWait.
//
// It is pending until its callback begins or its time is sent: Stop and Reset can still take back what waits in a
// Config.Run that is busy. A series is pending until it ends.
type Timer struct {
	C <-chan time.Time // NewTimer: where the time is sent; otherwise nil

	wheel *timerWheel // immutable; nil: not made by a Timers
	act   action      // immutable

	mu     sync.Mutex // guards everything below; taken before that of a shard, and not held while foreign code runs
	id     ID         // of the timer on the wheel; 0: none, or its callback has begun
	runs   int32      // callbacks that are running
	armed  bool       // pending: it holds a room; for a single event exactly if id is not 0
	killed bool
	waits  uint16        // calls of StopWait that wait; while there are any no callback begins
	quiet  chan struct{} // if not nil, closed when runs reaches 0
}

// Stop keeps the Timer from firing. It returns true if it did so: the function of AfterFunc will not begin, a series is
// over, and from C nothing will be received, as Stop takes back what was sent but not yet received. It returns false if
// the function has begun or Run has refused it (Stats.Dropped), the time was received, or the Timer was stopped already. It
// does not wait for a function that runs: StopWait does.
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
// before one that is running has ended. For one of ScheduleFunc the next run comes after d, likewise, and then the schedule
// goes on.
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
// context's error. Once it has returned nil, the function neither runs nor will, unless the Timer is reset after that.
// It undoes a Reset that the function, or others, make while it waits: no run begins meanwhile. It must not be called by
// that function, for which it would wait.
func (t *Timer) StopWait(ctx context.Context) error {
	t.mustBeMade("StopWait")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.haltLocked()
	t.waits++ // so runs only falls
	defer func() { t.waits-- }()
	for t.runs > 0 {
		if err := t.waitLocked(ctx); err != nil {
			return err
		}
		t.haltLocked()
	}
	return nil
}

// waitLocked waits, without the lock, until no callback is running.
func (t *Timer) waitLocked(ctx context.Context) error {
	if t.quiet == nil {
		t.quiet = make(chan struct{})
	}
	quiet := t.quiet
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
		panic("wheel: " + method + " called on uninitialized Timer: the methods of Timers make them")
	}
}
