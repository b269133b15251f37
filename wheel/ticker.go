package wheel

import (
	"fmt"
	"time"
)

// Ticker sends the time on its channel again and again, as in package time.
// [Timers.NewTicker] makes it, and all methods are safe for concurrent use.
type Ticker struct {
	C <-chan time.Time // where the times are sent

	timer Timer
	ticks ticks
}

// NewTicker returns a Ticker that sends the current time on its channel C every
// d, the first time after d. The ticks are on the grid start + k*d and do not
// drift. A receiver that is slow, or a process that was stopped, misses ticks.
// If d is shorter than Config.Tick, the Ticker sends once in every tick of the
// wheel. NewTicker panics if d is not positive.
//
// As with NewTimer, no time from before the last Stop or Reset is ever
// received, C has a buffer of one, and a Ticker that is not stopped continues,
// even if the program has no reference to it. If there is no room, or the
// Timers is closed, NewTicker returns a stopped Ticker, and its Err returns the
// reason.
func (t *Timers) NewTicker(d time.Duration) *Ticker {
	if d <= 0 {
		panic(fmt.Sprintf("wheel: interval of %v for NewTicker, but it must be positive", d))
	}
	c := make(chan time.Time, 1)
	ticker := &Ticker{C: c, ticks: ticks{sender: c}}
	ticker.timer.wheel, ticker.timer.act = t.use(), &ticker.ticks
	ticker.timer.mu.Lock()
	defer ticker.timer.mu.Unlock()
	ticker.timer.madeLocked(ticker.resetLocked(d))
	return ticker
}

// Err returns ErrFull or ErrClosed if the Timers refused the Ticker when
// NewTicker made it, and nil otherwise. A later Stop, Reset or Close does not
// change the result.
func (t *Ticker) Err() error { return t.timer.Err() }

// Stop ends the ticks: no more are sent, and one that was sent but not received
// is removed. C is not closed.
func (t *Ticker) Stop() {
	if t.timer.wheel != nil { // as in package time, Stop of a zero Ticker does nothing
		t.timer.halt()
	}
}

// Reset gives the Ticker the period d. The first tick comes after d, even if
// the Ticker was stopped, and a tick that was sent but not received is removed.
// If there is no room for the Ticker, or the Timers is closed, Reset leaves it
// stopped. Reset panics if d is not positive, and for the zero Ticker.
func (t *Ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("wheel: interval of %v for Ticker.Reset, but it must be positive", d))
	}
	if t.timer.wheel == nil {
		panic("wheel: Reset of a Ticker that was not made by NewTicker")
	}
	t.timer.mu.Lock()
	defer t.timer.mu.Unlock()
	_ = t.resetLocked(d)
}

func (t *Ticker) resetLocked(d time.Duration) error {
	t.ticks.drain()
	t.ticks.grid = newGrid(d)
	return t.timer.armLocked(d)
}

// ticks is the action of a Ticker.
type ticks struct {
	sender
	grid // guarded by the Timer's lock
}

func (k *ticks) fire(t *Timer, id ID) {
	t.mu.Lock()
	defer t.mu.Unlock() // after the time is sent: a Stop must find it in the channel
	if t.id != id {
		return
	}
	t.id = 0
	now := time.Now()
	k.pass(now)
	k.due = k.due.Add(k.period)
	_ = t.armLocked(k.due.Sub(now)) // fails only after Close
	k.send(now)
}

// grid is the instants at which the runs of a series are due: every period from
// some start. It is kept in time, not in ticks, so errors do not add up.
type grid struct {
	due    time.Time // the instant of the run that is next, or in progress
	period time.Duration
}

// newGrid returns a grid that begins d from now.
func newGrid(d time.Duration) grid { return grid{due: time.Now().Add(d), period: d} }

// pass moves due to the latest instant of the grid that is not after now, but
// never back.
func (g *grid) pass(now time.Time) {
	if late := now.Sub(g.due); late >= g.period {
		g.due = g.due.Add(late - late%g.period)
	}
}
