package trusted

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// Lasts is how long a clock must have been ahead until that is believed.
	Lasts = 5 * time.Minute

	// stepSeen is by how much a wall clock must go another way than a steady one between
	// two looks to have been set: what is less is a correction. drift is the part of the
	// time between the looks by which two sound clocks may part besides.
	stepSeen = time.Second
	drift    = 1000
)

// Clock follows a wall clock, which may be set. After a step ahead it goes on as if there
// had been none, until the step has lasted for Lasts. A step back it follows at once:
// then things end later, not earlier. A machine that slept seems to have stepped ahead.
//
// Any goroutine may call its methods.
type Clock struct {
	wall    func() (earliest, latest time.Time)
	noticed func(ahead time.Duration)
	base    time.Time

	mu    sync.Mutex // guards doubt
	doubt doubt
}

// New returns a Clock that follows wall from now on. noticed is called at each step
// ahead, without any lock; it may be nil.
func New(wall func() time.Time, noticed func(ahead time.Duration)) *Clock {
	return NewWithin(func() (earliest, latest time.Time) {
		now := wall()
		return now, now
	}, noticed)
}

// NewWithin is New for a wall clock that is known only within bounds: another machine's,
// for example, which was last heard of some time ago. The Clock follows the earliest time.
// It takes a change of the bounds for a step only if no time fits both the old and the new.
func NewWithin(wall func() (earliest, latest time.Time), noticed func(ahead time.Duration)) *Clock {
	c := &Clock{wall: wall, noticed: noticed, base: time.Now()}
	c.doubt = newDoubt(c.read())
	return c
}

// Warn returns a function for New that logs each step.
func Warn(log *slog.Logger) func(ahead time.Duration) {
	return func(ahead time.Duration) {
		log.Warn("the clock went ahead: tasks expire, records and tokens are removed and lost leases are taken back by the old time until the step has lasted",
			"by", ahead.Round(time.Millisecond).String(), "must_last", Lasts.String())
	}
}

// read reads both clocks.
func (c *Clock) read() reading {
	earliest, latest := c.wall()
	steady, base := time.Since(c.base), c.base.Round(0)
	return reading{steady: steady, low: earliest.Sub(base) - steady, high: latest.Sub(base) - steady}
}

// look reads both clocks and returns the trusted time, and by how much that is behind the
// wall clock. Both rest on one reading: the wall clock may step before another.
func (c *Clock) look() (now time.Time, lag time.Duration) {
	c.mu.Lock()
	r := c.read()
	ahead := c.doubt.look(r)
	now, lag = c.base.Round(0).Add(r.steady+c.doubt.believed), c.doubt.lag()
	c.mu.Unlock()
	if c.noticed != nil && ahead > 0 {
		c.noticed(ahead)
	}
	return now, lag
}

// Lag returns by how much the trusted time is behind the wall clock.
func (c *Clock) Lag() time.Duration {
	_, lag := c.look()
	return lag
}

// Now returns the trusted time. It is never later than the wall clock.
func (c *Clock) Now() time.Time {
	now, _ := c.look()
	return now
}

// reading is what the clocks show: a steady one, and by how much the wall clock is ahead
// of it, at least and at most.
type reading struct {
	steady, low, high time.Duration
}

// doubt is what a Clock knows of its wall clock, compared with a steady one. It is pure:
// both clocks are arguments.
type doubt struct {
	believed time.Duration // by how much the wall clock is ahead, as far as that is believed
	last     reading
	steps    []step // ahead, not believed yet, the oldest first: each by less than the next
}

// step is a step ahead.
type step struct {
	to time.Duration // by how much the wall clock is ahead since
	at time.Duration // of the steady clock
}

// maxSteps bounds how many steps are in doubt one by one. One more counts as one with the last.
const maxSteps = 16

func newDoubt(r reading) doubt { return doubt{believed: r.low, last: r} }

// look takes in a reading, and returns the size of the step ahead that it shows, 0 if none.
// Each step is believed by itself, however many follow it.
func (d *doubt) look(r reading) (ahead time.Duration) {
	r.high = max(r.low, r.high)
	if tolerance := stepSeen + (r.steady-d.last.steady)/drift; r.low-d.last.high > tolerance {
		d.steps = append(d.steps[:min(len(d.steps), maxSteps-1)], step{r.low, r.steady})
		ahead = r.low - d.last.low
	}
	d.last = r
	for len(d.steps) > 0 && r.steady-d.steps[0].at >= Lasts {
		d.believed, d.steps = d.steps[0].to, d.steps[1:]
	}
	for n := len(d.steps); n > 1 && r.low <= d.steps[n-2].to; n = len(d.steps) { // set back
		d.steps = d.steps[:n-1]
	}
	if n := len(d.steps); n > 0 { // corrected, or set back by a part of the step
		d.steps[n-1].to = r.low
	}
	if len(d.steps) == 0 || r.low-d.believed <= stepSeen {
		d.believed, d.steps = r.low, nil
	}
	return ahead
}

func (d *doubt) lag() time.Duration { return d.last.low - d.believed }
