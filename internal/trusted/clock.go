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
	since    time.Duration // of the steady clock, at the last step ahead; valid while seen > believed
}

func newDoubt(gap, steady time.Duration) doubt { return doubt{believed: gap, seen: gap, at: steady} }

// look takes in that the wall clock is ahead by gap when the steady one shows steady.
func (d *doubt) look(gap, steady time.Duration) {
	tolerance := stepSeen + (steady-d.at)/drift
	stepped := gap-d.seen > tolerance
	if !stepped && !d.doubts() { // corrected, or set back
		d.believed = gap
	}
	if stepped {
		d.since = steady
	}
	d.seen, d.at = gap, steady
	if gap-d.believed <= stepSeen || steady-d.since >= Lasts {
		d.believed = gap
	}
}

// doubts reports whether there was a step ahead that is not believed yet.
func (d *doubt) doubts() bool { return d.seen > d.believed }

func (d *doubt) lag() time.Duration { return d.seen - d.believed }
