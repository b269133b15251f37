package wheel

import (
	"context"
	"sync"
	"time"
)

// Timer is a single event, made by a method of [Timers], or a series of events,
// made by Every or ScheduleFunc. Any goroutine may call any method at any time.
// A Timer's own callback may call all methods but StopWait.
//
// A Timer is pending until its callback begins or its time is sent: Stop and
// Reset can still stop a callback that waits in a busy Config.Run. A series is
// pending until it ends.
type Timer struct {
	C <-chan time.Time // NewTimer: the time is sent on it; otherwise nil

	wheel *timerWheel // immutable; nil: not made by a Timers
	act   action      // immutable

	// mu guards everything below. It is taken before a shard's lock, and is not
	// held while code of others runs.
	mu    sync.Mutex
	id    ID            // of the timer in the wheel; 0: none, or its callback has begun
	runs  int32         // callbacks that are running
	armed bool          // pending: it takes room in the limit; for a single event, if and only if id is not 0
	flags timerFlags    // set by Kill, and if the Timers refused the Timer
	waits uint16        // calls of StopWait that wait; no callback begins while there are any
	quiet chan struct{} // if not nil, closed when runs reaches 0
}

// timerFlags are bits that are set once and stay. With a field for each, a Timer
// would take more than 64 bytes.
type timerFlags uint8

const (
	killed        timerFlags = 1 << iota // Kill was called
	refusedFull                          // Err is ErrFull
	refusedClosed                        // Err is ErrClosed
)

// Err returns ErrFull or ErrClosed if the Timers refused the Timer when it was
// made, and nil otherwise. A refused Timer is stopped from the start. A later
// Stop, Reset or Close does not change the result.
func (t *Timer) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.flags&refusedFull != 0:
		return ErrFull
	case t.flags&refusedClosed != 0:
		return ErrClosed
	}
	return nil
}

// Stop keeps the Timer from firing and reports whether it did so. If it returns
// true, the function of AfterFunc does not begin, a series ends, and no time is
// received from C, because Stop removes a time that was sent but not received.
// If it returns false, the function has begun, Run has refused it
// (Stats.Dropped), the time was received, or the Timer was stopped already.
// Stop does not wait for a running function: StopWait does.
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

// Reset makes the Timer fire after d from now, even if it has fired or was
// stopped. It returns true if the Timer was pending, or if its time was sent
// but not received: then the old deadline has no effect. If Reset returns
// false, an earlier call of the function may still run, and the next call does
// not wait for it.
//
// For a timer of Every, d is the new period, and Reset panics if d is not
// positive. The first run comes after d, but not before a run in progress has
// ended. For a timer of ScheduleFunc, one run comes after d, under the same
// condition, and then the schedule continues.
//
// If there is no room for the Timer, or the Timers is closed, Reset leaves it
// stopped.
func (t *Timer) Reset(d time.Duration) bool {
	t.mustBeMade("Reset")
	s, isSeries := t.act.(series)
	if isSeries {
		s.mustAllow(d)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.flags&killed != 0:
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

// StopWait stops the Timer and waits until no call of its function is running,
// or until ctx is done: then it returns the context's error. After it has
// returned nil, the function neither runs nor will run, unless the Timer is
// reset later. While StopWait waits, it undoes every Reset, also one by the
// function itself: no run begins. The function itself must not call StopWait:
// it would wait for itself.
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

// Kill is Stop for good: every later Reset does nothing and returns false, also
// a Reset by the function while it runs.
func (t *Timer) Kill() bool {
	t.mustBeMade("Kill")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flags |= killed
	return t.haltLocked()
}

func (t *Timer) mustBeMade(method string) {
	if t.wheel == nil {
		panic("wheel: " + method + " called on uninitialized Timer: the methods of Timers make them")
	}
}
