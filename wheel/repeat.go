package wheel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Repeat is a setting of [Timers.Every]. Settings may also be joined by |, but not one Jitter to another.
type Repeat uint64

const (
	// SkipMissed: a run whose time came while another was running, or the process was stopped, is left out; the next is on
	// the grid again. This is the default.
	SkipMissed Repeat = 1 << iota

	// CatchUp: every run that was missed is made up for, one right after the other, until the series is on the grid again.
	CatchUp

	// FixedDelay: the next run is the period after the end of the last. There is no grid.
	FixedDelay

	// Immediately: the first run is at once, and not after one period.
	Immediately

	jitter // and the share of the period, in units of 2^-32, in the upper half

	missedPolicies = SkipMissed | CatchUp | FixedDelay
)

// Jitter lets each run be late by a random part of the period, up to x times as long, so that series that were started
// together do not run together. The grid itself is not shifted. It panics unless 0 ≤ x ≤ 1.
func Jitter(x float64) Repeat {
	if !(x >= 0 && x <= 1) {
		panic(fmt.Sprintf("wheel: Jitter of %v, must be 0 to 1", x))
	}
	return jitter | Repeat(x*math.MaxUint32)<<32
}

// Every calls f, by way of Config.Run, again and again until the Timer is stopped: at start + d, start + 2d and so on,
// without drift, however long it takes; but, unless it has to catch up, once a tick at most. Runs do not overlap: the
// next never begins while one is running. A run that panics (if Config.OnPanic is set), or that Run refuses, does not end
// the series. Stop and Reset may be called within f. If there is no room for it, or the Timers is closed, the series is
// over before it began.
//
// Of SkipMissed, CatchUp and FixedDelay, which exclude each other, the last that opts give counts. Every panics if d is not
// positive, f is nil, or opts make no sense.
func (t *Timers) Every(d time.Duration, f func(), opts ...Repeat) *Timer {
	if f == nil {
		panic("wheel: Every without a function")
	}
	made := new(struct { // one piece of memory for both
		timer Timer
		every every
	})
	timer, e := &made.timer, &made.every
	e.mustAllow(d)
	timer.wheel, timer.act = t.use(), e
	e.f, e.missed = f, SkipMissed
	now := false
	for _, opt := range opts {
		e.set(opt)
		now = now || opt&Immediately != 0
	}
	timer.mu.Lock()
	defer timer.mu.Unlock()
	first := time.Duration(0)
	if e.grid = (grid{due: time.Now(), period: d}); !now {
		e.due = e.due.Add(d)
		first = e.left()
	}
	_ = timer.armLocked(first)
	return timer
}

// every is the action of a timer of Every.
type every struct {
	f      func() // immutable, as the next two
	missed Repeat // SkipMissed, CatchUp or FixedDelay
	jitter uint32 // the largest lateness, in units of 2^-32 periods

	grid       // guarded by the Timer's lock
	moved bool // due was set by Reset during a run, which will arm the Timer at its end; guarded likewise
}

// series is an action that repeats itself. The Timer stays armed between its runs and while they run.
type series interface {
	action
	mustAllow(d time.Duration) // panics if Reset(d) makes no sense
	resetLocked(t *Timer, d time.Duration) bool
}

// set takes over what one option says.
func (e *every) set(opt Repeat) {
	setting, share := opt&math.MaxUint32, uint32(opt>>32)
	switch policy := setting & missedPolicies; {
	case setting&^(missedPolicies|Immediately|jitter) != 0, share != 0 && setting&jitter == 0:
		panic(fmt.Sprintf("wheel: Every with Repeat(%#x), which is none", uint64(opt)))
	case policy&(policy-1) != 0:
		panic("wheel: Every with two of SkipMissed, CatchUp and FixedDelay in one")
	case policy != 0:
		e.missed = policy
	}
	if setting&jitter != 0 {
		e.jitter = share
	}
}

func (e *every) direct() bool { return false }

func (e *every) mustAllow(d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("wheel: period of %v for Every or its Reset, must be positive", d))
	}
}

func (e *every) fire(t *Timer, id ID) {
	if e.begin(t, id) {
		defer e.end(t)
		e.f()
	}
}

func (e *every) lost(t *Timer, id ID, cause error) {
	switch {
	case errors.Is(cause, ErrClosed):
		t.take(id)
	case e.begin(t, id): // a run of no length
		e.end(t)
	}
}

func (e *every) begin(t *Timer, id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.beginRunLocked(id) {
		return false
	}
	if e.missed == SkipMissed {
		e.pass(time.Now().Add(-e.window()))
	}
	return true
}

// end arms the Timer for the next run, unless it was stopped.
func (e *every) end(t *Timer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked()
	moved := e.moved
	if e.moved = false; t.armed {
		e.advance(time.Now(), moved)
		left := e.left()
		if e.missed == SkipMissed && e.period < t.wheel.tick {
			left = max(left, 1) // in the next tick, or it would never pause
		}
		_ = t.armLocked(left) // fails only after Close
	}
}

// advance moves due to the next run, the last having ended now.
func (e *every) advance(now time.Time, moved bool) {
	switch {
	case e.missed == FixedDelay && !moved:
		e.due = now.Add(e.period)
		return
	case !moved:
		e.due = e.due.Add(e.period)
	}
	if e.missed == SkipMissed {
		// What could still begin at this very moment is not missed, so the latest point before now is.
		if missed := now.Add(-e.window() - 1); !e.due.After(missed) {
			e.pass(missed)
			e.due = e.due.Add(e.period)
		}
	}
}

// window is how long after its point on the grid a run may begin.
func (e *every) window() time.Duration {
	hi, lo := bits.Mul64(uint64(e.period), uint64(e.jitter))
	return time.Duration(hi<<32 | lo>>32)
}

// left draws how long it is until the next run.
func (e *every) left() time.Duration {
	due := e.due
	if w := e.window(); w > 0 {
		due = due.Add(rand.N(w))
	}
	return time.Until(due)
}

// resetLocked starts a new grid. While the function runs, its end arms the Timer.
func (e *every) resetLocked(t *Timer, d time.Duration) (was bool) {
	was = t.armed
	e.grid = newGrid(d)
	if t.runs == 0 {
		_ = t.armLocked(e.left())
	} else {
		e.moved = t.admitLocked() == nil
	}
	return was
}

// beginRunLocked begins a run of a series: it is begin, but keeps the Timer armed.
func (t *Timer) beginRunLocked(id ID) bool {
	if t.id != id {
		return false
	}
	t.id = 0
	if t.waits > 0 { // a StopWait has stopped it
		t.releaseLocked()
		return false
	}
	t.runs++
	return true
}
