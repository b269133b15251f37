package wheel

import (
	"errors"
	"time"
)

// start arms a new Timer. It takes the lock because the Timer may fire at once.
func (t *Timer) start(d time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.armLocked(d)
	t.madeLocked(err)
	return err
}

// madeLocked keeps the error that a new Timer was armed with, for Err.
func (t *Timer) madeLocked(err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrClosed):
		t.flags |= refusedClosed
	default:
		t.flags |= refusedFull
	}
}

// armLocked makes the Timer fire after d, and not at its old deadline, or stops
// it and returns an error.
func (t *Timer) armLocked(d time.Duration) error {
	t.withdrawLocked()
	if err := t.reserveLocked(); err != nil {
		return err
	}
	id, err := t.wheel.Add(d, t)
	return t.placedLocked(id, err)
}

// armAtLocked is armLocked for a time of the wall clock.
func (t *Timer) armAtLocked(at time.Time) error {
	t.withdrawLocked()
	if err := t.reserveLocked(); err != nil {
		return err
	}
	id, err := t.wheel.AddAt(When{At: at}, t)
	return t.placedLocked(id, err)
}

func (t *Timer) placedLocked(id ID, err error) error {
	if t.id = id; err != nil {
		t.releaseLocked()
	}
	return err
}

// reserveLocked reserves room for the Timer, if it has none.
func (t *Timer) reserveLocked() error {
	if !t.armed && !t.wheel.rooms.reserve() {
		return t.wheel.shards[0].refuse()
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

// withdrawLocked removes the Timer from the wheel. If it has
// expired already, its expiry finds another ID and does nothing.
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

// take ends a single event. It returns false if the Timer was stopped or reset
// since it was due.
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

// begin is take for a single event with a callback, which the caller then
// calls; end must follow. It also returns false while a StopWait waits, because
// that has stopped the Timer.
func (t *Timer) begin(id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.takeLocked(id) || t.waits > 0 {
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
