package trustedclock

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// Lasts is the time for which a clock must have been ahead before a Clock
	// follows the step.
	Lasts = 5 * time.Minute

	// A wall clock was set if it moves away from a monotonic clock by more than
	// stepSeen between two reads. A smaller difference is a correction. drift
	// adds a tolerance, because two good clocks may move apart by 1/drift of
	// the time between the reads.
	stepSeen = time.Second
	drift    = 1000
)

// Clock follows a wall clock, which may be set. It ignores a step ahead until
// the step has lasted for Lasts, but follows one back at once, because then
// things end later, not earlier. A suspend of the machine looks like a step
// ahead.
//
// Any goroutine may call its methods.
type Clock struct {
	wall    func() (earliest, latest time.Time)
	noticed func(ahead time.Duration)
	base    time.Time

	mu    sync.Mutex // guards doubt
	doubt doubt
}

// New returns a Clock that follows wall from now on. noticed, which may be nil,
// is called after each step ahead, without a lock held.
func New(wall func() time.Time, noticed func(ahead time.Duration)) *Clock {
	return NewWithin(func() (earliest, latest time.Time) {
		now := wall()
		return now, now
	}, noticed)
}

// NewWithin is like New for a wall clock that is known only within bounds, such
// as the clock of another machine some time after its last reply. The Clock
// follows the earliest time, and a change of the bounds counts as a step only
// if no time fits both the old and the new bounds.
func NewWithin(wall func() (earliest, latest time.Time), noticed func(ahead time.Duration)) *Clock {
	c := &Clock{wall: wall, noticed: noticed, base: time.Now()}
	c.doubt = newDoubt(c.read())
	return c
}

// Warn returns a function for New that logs each step.
func Warn(log *slog.Logger) func(ahead time.Duration) {
	return func(ahead time.Duration) {
		log.Warn("the clock went ahead: until it is trusted, no task expires, no record or token is removed, and no lease is taken back by the new time",
			"by", ahead.Round(time.Millisecond).String(), "must_last", Lasts.String())
	}
}

// read reads both clocks.
func (c *Clock) read() reading {
	earliest, latest := c.wall()
	monotonic, base := time.Since(c.base), c.base.Round(0)
	return reading{monotonic: monotonic, low: earliest.Sub(base) - monotonic, high: latest.Sub(base) - monotonic}
}

// look reads both clocks, and returns the trusted time, and how far that is
// behind the wall clock. Both results use one reading, because the wall clock
// may step between two.
func (c *Clock) look() (now time.Time, lag time.Duration) {
	c.mu.Lock()
	r := c.read()
	ahead := c.doubt.look(r)
	now, lag = c.base.Round(0).Add(r.monotonic+c.doubt.believed), c.doubt.lag()
	c.mu.Unlock()
	if c.noticed != nil && ahead > 0 {
		c.noticed(ahead)
	}
	return now, lag
}

// Lag returns how far the trusted time is behind the wall clock.
func (c *Clock) Lag() time.Duration {
	_, lag := c.look()
	return lag
}

// Now returns the trusted time, which is never later than the wall clock.
func (c *Clock) Now() time.Time {
	now, _ := c.look()
	return now
}

// reading is one reading of both clocks: the monotonic clock, and how far the
// wall clock is ahead of it, at least and at most.
type reading struct {
	monotonic, low, high time.Duration
}

// doubt compares a wall clock with a monotonic one. It is pure: the readings of
// both clocks are arguments.
type doubt struct {
	believed time.Duration // how far the wall clock is ahead, without the steps in doubt
	last     reading
	steps    []step // steps ahead that are still in doubt, the oldest first; each step's to is larger than the one before
}

// step is a step ahead.
type step struct {
	to time.Duration // how far the wall clock is ahead after the step
	at time.Duration // the time of the monotonic clock
}

// maxSteps bounds how many steps are in doubt one by one. A further step is
// merged with the last one.
const maxSteps = 16

func newDoubt(r reading) doubt { return doubt{believed: r.low, last: r} }

// look processes a reading, and returns the size of the step ahead that it
// shows, or 0. Each step is believed by itself, even if others follow.
func (d *doubt) look(r reading) (ahead time.Duration) {
	r.high = max(r.low, r.high)
	if tolerance := stepSeen + (r.monotonic-d.last.monotonic)/drift; r.low-d.last.high > tolerance {
		d.steps = append(d.steps[:min(len(d.steps), maxSteps-1)], step{r.low, r.monotonic})
		ahead = r.low - d.last.low
	}
	d.last = r
	for len(d.steps) > 0 && r.monotonic-d.steps[0].at >= Lasts {
		d.believed, d.steps = d.steps[0].to, d.steps[1:]
	}
	for n := len(d.steps); n > 1 && r.low <= d.steps[n-2].to; n = len(d.steps) { // set back
		d.steps = d.steps[:n-1]
	}
	if n := len(d.steps); n > 0 { // corrected, or a part of the step was set back
		d.steps[n-1].to = r.low
	}
	if len(d.steps) == 0 || r.low-d.believed <= stepSeen {
		d.believed, d.steps = r.low, nil
	}
	return ahead
}

func (d *doubt) lag() time.Duration { return d.last.low - d.believed }
