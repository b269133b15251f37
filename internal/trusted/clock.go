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
	wall    func() time.Time
	noticed func(ahead time.Duration)
	base    time.Time

	mu    sync.Mutex // guards doubt
	doubt doubt
}

// New returns a Clock that follows wall from now on. noticed is called at each step
// ahead, without any lock; nil: nobody is.
func New(wall func() time.Time, noticed func(ahead time.Duration)) *Clock {
	c := &Clock{wall: wall, noticed: noticed, base: time.Now()}
	c.doubt = newDoubt(c.gap(), 0)
	return c
}

// Warn returns a function for New that logs each step.
func Warn(log *slog.Logger) func(ahead time.Duration) {
	return func(ahead time.Duration) {
		log.Warn("the clock went ahead: tasks expire, records and tokens are removed and lost leases are taken back by the old time until the step has lasted",
			"by", ahead.Round(time.Millisecond).String(), "must_last", Lasts.String())
	}
}

// gap returns by how much the wall clock is ahead of our steady one.
func (c *Clock) gap() time.Duration { return c.wall().Sub(c.base.Round(0)) - time.Since(c.base) }

// Lag returns by how much the trusted time is behind the wall clock.
func (c *Clock) Lag() time.Duration {
	c.mu.Lock()
	before := c.doubt.lag()
	c.doubt.look(c.gap(), time.Since(c.base))
	lag := c.doubt.lag()
	c.mu.Unlock()
	if c.noticed != nil && lag > before {
		c.noticed(lag - before)
	}
	return lag
}

// Now returns the trusted time. It is never later than the wall clock.
func (c *Clock) Now() time.Time {
	lag := c.Lag()
	return c.wall().Add(-lag)
}

// doubt is what a Clock knows of its wall clock, compared with a steady one. It is pure:
// both clocks are arguments.
type doubt struct {
	believed time.Duration // by how much the wall clock is ahead, as far as that is believed
	seen     time.Duration // the same, at the last look
	at       time.Duration // of the steady clock, at the last look
	steps    []step        // ahead, not believed yet, the oldest first: each by less than the next
}

// step is a step ahead.
type step struct {
	to time.Duration // by how much the wall clock is ahead since
	at time.Duration // of the steady clock
}

// maxSteps bounds how many steps are in doubt one by one. One more counts as one with the last.
const maxSteps = 16

func newDoubt(gap, steady time.Duration) doubt { return doubt{believed: gap, seen: gap, at: steady} }

// look takes in that the wall clock is ahead by gap when the steady one shows steady. Each
// step is believed by itself, however many follow it.
func (d *doubt) look(gap, steady time.Duration) {
	if tolerance := stepSeen + (steady-d.at)/drift; gap-d.seen > tolerance {
		d.steps = append(d.steps[:min(len(d.steps), maxSteps-1)], step{gap, steady})
	}
	d.seen, d.at = gap, steady
	for len(d.steps) > 0 && steady-d.steps[0].at >= Lasts {
		d.believed, d.steps = d.steps[0].to, d.steps[1:]
	}
	for n := len(d.steps); n > 1 && gap <= d.steps[n-2].to; n = len(d.steps) { // set back
		d.steps = d.steps[:n-1]
	}
	if n := len(d.steps); n > 0 { // corrected, or set back by a part of the step
		d.steps[n-1].to = gap
	}
	if len(d.steps) == 0 || gap-d.believed <= stepSeen {
		d.believed, d.steps = gap, nil
	}
}

func (d *doubt) lag() time.Duration { return d.seen - d.believed }
