package wheel

import (
	"context"
	"sync"
	"time"
)

// Timer is a single event, made by a method of [Timers], or a series of events,
// made by Every or ScheduleFunc. All methods are safe for concurrent use, and a
// Timer's own callback may call all except StopWait. The methods of the zero
// Timer panic, except Err.
//
// A Timer is pending until its callback begins or its time is sent: Stop and
// Reset can still stop a callback that waits in a busy Config.Run. A series is
// pending until it ends.
type Timer struct {
	C <-chan time.Time // NewTimer: the time is sent on it; otherwise nil

	wheel *timerWheel // immutable; nil: not made by a Timers
	act   action      // immutable

	// mu guards everything below. It is taken before a shard's lock, and is not
	// held while user code runs.
	mu    sync.Mutex
	id    ID            // of the timer in the wheel; 0: none, or its callback has begun
	runs  int32         // callbacks that are running
	armed bool          // pending: it takes room in the limit; for a single event, if and only if id is not 0
	flags timerFlags    // set if the Timers refused the Timer
	waits uint16        // calls of StopWait in progress; while there is one, no callback begins
	quiet chan struct{} // if not nil, closed when runs reaches 0
}

// timerFlags are bits that are set once and stay. With a field for each, a
// Timer would take more than 64 bytes.
type timerFlags uint8

const (
	refusedFull   timerFlags = 1 << iota // Err is ErrFull
	refusedClosed                        // Err is ErrClosed
)

// Err returns ErrFull or ErrClosed if the Timers refused the Timer when it was
// made, and nil otherwise. A refused Timer is stopped from the start, and a
// later Stop, Reset or Close does not change the result.
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
// If it returns false, there was nothing to stop: the function has begun,
// Config.Run has refused it (Stats.Dropped), the time was received, or the
// Timer was stopped before. Unlike StopWait, Stop does not wait for a running
// function.
func (t *Timer) Stop() bool {
	t.mustBeMade("Stop")
	return t.halt()
}

func (t *Timer) halt() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.haltLocked()
}

// haltPending is halt for a timer that All has yielded with this ID. It does
// nothing if the callback has begun since then, because a series stays armed
// while its function runs.
func (t *Timer) haltPending(id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.id == id && t.haltLocked()
}

func (t *Timer) haltLocked() (was bool) {
	was = t.armed
	t.disarmLocked()
	return t.drainLocked() || was
}

// Reset makes the Timer fire after d from now, even if it has fired or was
// stopped. It returns true if the Timer was pending, or if its time was sent
// but not received, and then the old deadline has no effect. If Reset returns
// false, an earlier call of the function may still be running, and can overlap
// the next one.
//
// For a timer of Every, d is the new period, and Reset panics if d is not
// positive. The first run begins after d, but not before a run in progress has
// ended. For a timer of ScheduleFunc, Reset inserts one run after d, under the
// same condition, and then the schedule continues.
//
// If the Timer has no room, or the Timers is closed, Reset leaves it stopped.
// Stats.Refused counts that, and Err does not change.
func (t *Timer) Reset(d time.Duration) bool {
	t.mustBeMade("Reset")
	s, isSeries := t.act.(series)
	if isSeries {
		s.mustAllow(d)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
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
// or returns ctx.Err() if ctx is done first. After StopWait has returned nil,
// the function neither runs nor will run, unless the Timer is reset later. A
// Reset while StopWait waits has no effect then, even by the function itself,
// and no run begins while StopWait waits. The function must not call StopWait,
// because it would wait for itself.
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

func (t *Timer) mustBeMade(method string) {
	if t.wheel == nil {
		panic("wheel: " + method + " called on uninitialized Timer: the methods of Timers make them")
	}
}
