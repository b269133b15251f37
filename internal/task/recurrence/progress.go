package recurrence

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/wallclock"
)

// Progress is a schedule's rule, and the instants that the schedule has handled:
// each of them was fired or skipped.
type Progress struct {
	Rule

	Paused   bool
	PausedAt wallclock.Millis

	// Last is the last instant that was fired or skipped. If the expression is
	// fixed, Civil is its civil time, so that an evening has only one nine
	// o'clock, even if the rules of a zone change.
	Last  wallclock.Millis
	Civil cron.Civil

	Next    wallclock.Millis // the next instant; zero means that none is left
	Waiting wallclock.Millis // the instant whose occurrence waits for the end of earlier ones (BufferOne); zero means none
	Runs    int64            // the number of occurrences made for instants, including the waiting one
	Limited wallclock.Millis // CatchupLimit has been applied to the instants up to this time
	Fired   []Span           // the fired instants, in order, at most MaxSpans
	Skipped Skip             // the instants skipped last; zero means none
	Problem string           // the reason why the rule yields no instants now, such as an unknown zone; empty means none
}

// stepBack is the smallest lag of the clock behind the schedule's last instant
// that counts as a clock step. Smaller lags are normal, because the clocks of
// nodes that share a store differ a little.
const stepBack wallclock.Millis = 1000

// Ended reports whether the schedule has no more instants.
func (p *Progress) Ended() bool {
	return p.Next == 0 && p.Waiting == 0 && !p.Paused && p.Problem == ""
}

// markHandled records that all instants until at have been handled.
func (p *Progress) markHandled(c *Calendar, at wallclock.Millis) { p.Last, p.Civil = at, c.civil(at) }

// Upcoming returns the first instant that has not been handled, or 0.
func (p *Progress) Upcoming(c *Calendar) wallclock.Millis {
	if p.MaxRuns > 0 && p.Runs >= p.MaxRuns {
		return 0
	}
	at := c.after(p.Last, p.Civil)
	for at != 0 {
		s, ok := p.FiredAt(at)
		if !ok {
			break
		}
		at = c.after(s.Until, 0)
	}
	return at
}

// Rewind handles a clock that was set back, so instants that were skipped while
// the clock was ahead can fire again, and fired ones cannot. An interval that
// began while the clock was ahead begins earlier, by whole intervals.
func (p *Progress) Rewind(now wallclock.Millis) {
	if p.Last > now+stepBack {
		if every := wallclock.Millis(p.Every / time.Millisecond); every > 0 && p.Start == 0 && now < p.Anchor && p.Anchor <= p.Last {
			p.Anchor -= ((p.Anchor-now)/every + 1) * every
		}
		p.Last, p.Civil, p.Limited = now, 0, min(p.Limited, now)
	}
}

// Inherit copies the history of an existing schedule. A schedule that had ended
// and has instants again has missed nothing since, and if it stays ended, its
// history does not change.
func (p *Progress) Inherit(now wallclock.Millis, old *Progress) {
	p.Paused, p.PausedAt, p.Runs, p.Skipped, p.Waiting = old.Paused, old.PausedAt, old.Runs, old.Skipped, old.Waiting
	same := p.Same(&old.Rule)
	if !same || p.Overlap != BufferOne {
		p.dropWaiting()
	}
	if !same {
		if old.Last <= now+stepBack { // tolerates the clock of a node that is a little ahead
			p.Last = max(p.Last, old.Last)
		}
		return
	}
	p.Anchor, p.Last, p.Civil, p.Fired = old.Anchor, old.Last, old.Civil, old.Fired // not Limited: the limit and the end may have changed
	if c, err := p.Calendar(); old.Next == 0 && (err != nil || p.Upcoming(&c) != 0) {
		p.forgetMissed(now)
	}
}

// dropWaiting skips the instant that waits for the end of an occurrence.
func (p *Progress) dropWaiting() {
	if p.Waiting != 0 {
		p.Runs--
		p.Skipped = NewSkip(p.Waiting, SkippedOverlap)
		p.Waiting = 0
	}
}

// Pause pauses or resumes the schedule.
func (p *Progress) Pause(now wallclock.Millis, paused bool) {
	switch {
	case paused == p.Paused:
	case paused:
		p.Paused, p.PausedAt = true, now
		p.dropWaiting()
	default:
		p.Paused, p.PausedAt = false, 0
		p.forgetMissed(now)
	}
}
