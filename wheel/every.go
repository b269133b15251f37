package wheel

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// EveryOptions are the options of [Timers.Every]. The zero EveryOptions skips
// missed runs, has no jitter, and starts with a full period.
type EveryOptions struct {
	// Missed is the policy for runs that could not begin on time. Zero means
	// SkipMissed.
	Missed Missed

	// Each run is delayed by a random time of up to Jitter × period, so that
	// series that were started together do not run together. The grid does not
	// move. Jitter must be 0 to 1, and zero means none.
	Jitter float64

	// Immediately starts the first run at once, not after one period.
	Immediately bool
}

// Missed is the policy of a series for the runs that it missed, because the
// previous run was still in progress or because the process was stopped.
type Missed int

const (
	// SkipMissed skips the runs that would have begun during a slow run: the
	// next run is on the grid. After a stall of the process one missed run is
	// late, the others are skipped, and the run after it is on the grid.
	SkipMissed Missed = iota

	// FireAll makes up for every missed run, one right after the other, until
	// the series is on the grid again, and none overlap.
	FireAll

	// FixedDelay starts each run one period after the end of the run before.
	// There is no grid, so no run is missed.
	FixedDelay
)

func (o *EveryOptions) mustBeValid() {
	if !(o.Jitter >= 0 && o.Jitter <= 1) { // NaN must panic too
		panic(fmt.Sprintf("wheel: EveryOptions.Jitter is %v, but must be 0 to 1", o.Jitter))
	}
	if o.Missed < SkipMissed || o.Missed > FixedDelay {
		panic(fmt.Sprintf("wheel: EveryOptions.Missed is %d, but must be SkipMissed, FireAll or FixedDelay", int(o.Missed)))
	}
}

// Every calls f through Config.Run again and again until the Timer is stopped:
// at start + d, start + 2d and so on. The runs do not drift, however long they
// take, and do not overlap: the next run begins after the previous one has
// ended. A series runs at most once per tick of the wheel, except with FireAll.
//
// A run that panics (if Config.OnPanic is set), or that Config.Run refuses,
// does not end the series. f may call Stop and Reset. If there is no room for
// the series, or the Timers is closed, Every returns a stopped Timer, and its
// Err returns the reason. Every panics if d is not positive, f is nil, or opts
// are invalid.
func (t *Timers) Every(d time.Duration, f func(), opts EveryOptions) *Timer {
	if f == nil {
		panic("wheel: Every without a function")
	}
	opts.mustBeValid()
	made := new(struct { // one piece of memory for both
		timer Timer
		every every
	})
	timer, e := &made.timer, &made.every
	e.mustAllow(d)
	timer.wheel, timer.act = t.use(), e
	e.f, e.missed, e.jitter = f, opts.Missed, uint32(opts.Jitter*math.MaxUint32)
	timer.mu.Lock()
	defer timer.mu.Unlock()
	first := time.Duration(0)
	if e.grid = (grid{due: time.Now(), period: d}); !opts.Immediately {
		e.due = e.due.Add(d)
		first = e.left()
	}
	timer.madeLocked(timer.armLocked(first))
	return timer
}

// every is the action of a timer of Every.
type every struct {
	f      func() // immutable, as are the next two
	missed Missed
	jitter uint32 // the largest random delay, in units of 2^-32 periods

	// Guarded by the Timer's lock.
	grid
	moved bool // a Reset during a run has set due, and the end of the run arms the Timer
}

// series is an action that repeats. The Timer stays armed between its runs and
// during them.
type series interface {
	action
	mustAllow(d time.Duration) // panics if d is invalid
	resetLocked(t *Timer, d time.Duration) bool
}

func (e *every) direct() bool { return false }

func (e *every) mustAllow(d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("wheel: period of %v for Every or its Reset, but it must be positive", d))
	}
}

func (e *every) fire(t *Timer, id ID) {
	if e.begin(t, id) {
		defer e.end(t)
		e.f()
	}
}

func (e *every) lost(t *Timer, id ID, _ error) {
	if e.begin(t, id) { // a refused run counts as a run of zero duration
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
		if e.missed == SkipMissed && e.period < t.wheel.settings.tick {
			left = max(left, 1) // in the next tick, so that the series pauses
		}
		_ = t.armLocked(left) // fails only after Close
	}
}

// advance moves due to the next run. The last run ended at now.
func (e *every) advance(now time.Time, moved bool) {
	switch {
	case e.missed == FixedDelay && !moved:
		e.due = now.Add(e.period)
		return
	case !moved:
		e.due = e.due.Add(e.period)
	}
	if e.missed == SkipMissed {
		// A run may begin up to window after its instant. So only instants
		// before now-window are missed, and pass moves due to the last of
		// those.
		if missed := now.Add(-e.window() - 1); !e.due.After(missed) {
			e.pass(missed)
			e.due = e.due.Add(e.period)
		}
	}
}

// window is how long after its instant on the grid a run may begin.
func (e *every) window() time.Duration {
	hi, lo := bits.Mul64(uint64(e.period), uint64(e.jitter))
	return time.Duration(hi<<32 | lo>>32)
}

// left returns the time until the next run, with its random delay.
func (e *every) left() time.Duration {
	due := e.due
	if w := e.window(); w > 0 {
		due = due.Add(rand.N(w))
	}
	return time.Until(due)
}

// resetLocked starts a new grid. If the function is running, the end of the run
// arms the Timer.
func (e *every) resetLocked(t *Timer, d time.Duration) (was bool) {
	was = t.armed
	e.grid = newGrid(d)
	if t.runs == 0 {
		_ = t.armLocked(e.left())
	} else {
		e.moved = t.reserveLocked() == nil
	}
	return was
}

// beginRunLocked begins a run of a series. Unlike begin, it keeps the Timer
// armed.
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
