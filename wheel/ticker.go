package wheel

import (
	"fmt"
	"time"
)

// Ticker sends the time on its channel again and again, as that of package time; [Timers.NewTicker] makes it. Its methods
// may be called by any goroutine at any time.
type Ticker struct {
	C <-chan time.Time // where the times are sent

	timer Timer
	ticks ticks
}

// NewTicker returns a Ticker that sends the current time on its channel C every d, the first time after d. The ticks stand
// on the grid start + k*d and do not drift; a receiver that is slow, or a process that was stopped, misses those that it
// cannot take. If d is shorter than Config.Tick, there is a tick in every one of those. It panics if d is not positive.
//
// As with NewTimer, nobody receives a time of before the last Stop or Reset, C has a buffer of one, and a Ticker that is
// forgotten without Stop goes on. If there is no room, or the Timers is closed, it is made stopped.
func (t *Timers) NewTicker(d time.Duration) *Ticker {
	if d <= 0 {
		panic(fmt.Sprintf("wheel: interval of %v for NewTicker, must be positive", d))
	}
	c := make(chan time.Time, 1)
	ticker := &Ticker{C: c, ticks: ticks{sender: c}}
	ticker.timer.wheel, ticker.timer.act = t.use(), &ticker.ticks
	ticker.Reset(d)
	return ticker
}

// Stop ends the ticks: none is sent any more, and one that was not yet received is taken back. C is not closed.
func (t *Ticker) Stop() {
	if t.timer.wheel != nil { // as in package time, stopping a Ticker that nobody made does nothing
		t.timer.halt()
	}
}

// Reset gives the Ticker the period d, the first tick after d, also if it was stopped. One that was not yet received is
// taken back. It panics if d is not positive. If there is no room for the Ticker, or the Timers is closed, it is stopped.
func (t *Ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("wheel: interval of %v for Ticker.Reset, must be positive", d))
	}
	if t.timer.wheel == nil {
		panic("wheel: Reset of a Ticker that was not made by NewTicker")
	}
	t.timer.mu.Lock()
	defer t.timer.mu.Unlock()
	t.ticks.drain()
	t.ticks.grid = newGrid(d)
	_ = t.timer.armLocked(d)
}

// ticks is the action of a Ticker.
type ticks struct {
	sender
	grid // guarded by the Timer's lock
}

func (k *ticks) fire(t *Timer, id ID) {
	t.mu.Lock()
	defer t.mu.Unlock() // not before the time is sent: who stops the Timer must find it in the channel
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

// grid is where the runs of a series stand: every period from some start. It is kept in time, not in ticks, so that
// nothing adds up.
type grid struct {
	due    time.Time // a point of the grid: that of the run which is next, or under way
	period time.Duration
}

// newGrid returns a grid whose first point is d from now.
func newGrid(d time.Duration) grid { return grid{due: time.Now().Add(d), period: d} }

// pass moves due to the latest point that is not after now, but never back.
func (g *grid) pass(now time.Time) {
	if late := now.Sub(g.due); late >= g.period {
		g.due = g.due.Add(late - late%g.period)
	}
}
