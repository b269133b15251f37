package recurrence

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/wallclock"
)

// Progress is a schedule's rule, and how far the schedule has come.
type Progress struct {
	Rule

	Paused   bool
	PausedAt wallclock.Millis

	// Last is the last instant that was handled. Civil is its civil time if the
	// expression is fixed: even if the rules of a zone change, one evening has
	// one nine o'clock.
	Last  wallclock.Millis
	Civil cron.Civil

	Next    wallclock.Millis // the next instant; 0: there is none
	Waiting wallclock.Millis // the instant whose occurrence waits for the end of earlier ones (BufferOne); 0: none
	Runs    int64            // occurrences that instants have made, including the waiting one
	Limited wallclock.Millis // CatchupLimit has been applied up to here
	Fired   []Span           // the instants fired, in order, at most MaxSpans
	Skipped Skip             // the last instants skipped; zero: none
	Problem string           // the reason why its rule cannot be followed now
}

// stepBack is the smallest lag of the clock behind the schedule's last instant
// that counts as a clock step. Smaller lags are normal, as the clocks of nodes
// that share a store differ a little.
const stepBack wallclock.Millis = 1000

// Ended reports whether the schedule has no more instants.
func (r *Progress) Ended() bool {
	return r.Next == 0 && r.Waiting == 0 && !r.Paused && r.Problem == ""
}

// Choose returns the due instant to handle now, and skips those that the rule
// passes over. It returns 0 if none is left.
func (r *Progress) Choose(c *Calendar, now wallclock.Millis, skipped *[]Skip) wallclock.Millis {
	first := r.Upcoming(c)
	if first == 0 || first > now {
		return 0
	}
	latest := r.latest(c, now)
	first = r.skipTo(c, first, now-r.window(c, latest), SkippedWindow, skipped)
	at := latest
	switch {
	case first == 0 || first > now:
		return 0
	case r.Misfire == FireAll:
		if first > r.Limited {
			first = r.skipTo(c, first, r.firstWithinLimit(c, first, latest), SkippedLimit, skipped)
			r.Limited = now
		}
		at = first
	case r.Misfire == SkipMissed && now-latest > c.grace(latest):
		r.skipTo(c, first, latest+1, SkippedMisfire, skipped)
		return 0
	default:
		r.skipTo(c, first, latest, SkippedMisfire, skipped)
	}
	r.markHandled(c, at)
	return at
}

// window returns for how long a missed instant is made up for. It is never
// shorter than the grace, because an instant within its grace was not missed.
func (r *Progress) window(c *Calendar, latest wallclock.Millis) wallclock.Millis {
	w := wallclock.Millis(r.CatchupWindow / time.Millisecond)
	if w < maxGrace {
		w = max(w, c.grace(latest))
	}
	return w
}

// skipTo records the instants from first up to, but not including, to as
// skipped, and returns the first instant after them, or 0 if there is none.
// Instants that were fired early, while the clock was ahead, are not recorded.
func (r *Progress) skipTo(c *Calendar, first, to wallclock.Millis, why string, skipped *[]Skip) wallclock.Millis {
	for first != 0 && first < to {
		r.markHandled(c, c.upTo(min(to, r.firedAfter(first))-1))
		*skipped = append(*skipped, Skip{Span{first, r.Last}, why})
		first = r.Upcoming(c)
	}
	return first
}

// markHandled records that all instants until at have been handled.
func (r *Progress) markHandled(c *Calendar, at wallclock.Millis) { r.Last, r.Civil = at, c.civil(at) }

// Upcoming returns the first instant that has not been handled, or 0.
func (r *Progress) Upcoming(c *Calendar) wallclock.Millis {
	if r.MaxRuns > 0 && r.Runs >= r.MaxRuns {
		return 0
	}
	at := c.after(r.Last, r.Civil)
	for at != 0 {
		s, ok := r.FiredAt(at)
		if !ok {
			break
		}
		at = c.after(s.Until, 0)
	}
	return at
}

// latest returns the last instant at or before m that was not fired, or 0.
func (r *Progress) latest(c *Calendar, m wallclock.Millis) wallclock.Millis {
	at := c.upTo(m)
	for at != 0 {
		s, ok := r.FiredAt(at)
		if !ok {
			break
		}
		at = c.upTo(s.From - 1)
	}
	return at
}

// firstWithinLimit returns the first of the CatchupLimit instants up to latest,
// but at least first.
func (r *Progress) firstWithinLimit(c *Calendar, first, latest wallclock.Millis) wallclock.Millis {
	for n := r.CatchupLimit; n > 1 && latest > first; n-- {
		latest = r.latest(c, latest-1)
	}
	return latest
}

// Rewind handles a clock that was set back. Instants that were skipped while
// the clock was ahead can fire again, and fired ones cannot.
func (r *Progress) Rewind(now wallclock.Millis) {
	if r.Last > now+stepBack {
		r.Last, r.Civil, r.Limited = now, 0, min(r.Limited, now)
	}
}

// Inherit copies the history of an existing schedule. A schedule that had ended
// has missed nothing since.
func (r *Progress) Inherit(now wallclock.Millis, old *Progress) {
	r.Paused, r.PausedAt, r.Runs, r.Skipped, r.Waiting = old.Paused, old.PausedAt, old.Runs, old.Skipped, old.Waiting
	same := r.Same(&old.Rule)
	if !same || r.Overlap != BufferOne {
		r.dropWaiting()
	}
	if !same {
		if old.Last <= now+stepBack { // tolerates the clock of a node that is a little ahead
			r.Last = max(r.Last, old.Last)
		}
		return
	}
	r.Anchor, r.Last, r.Civil, r.Fired = old.Anchor, old.Last, old.Civil, old.Fired // not Limited: the limit and the end may have changed
	if old.Next == 0 {
		r.forgetMissed(now)
	}
}

// forgetMissed skips all missed instants until now, without a record.
func (r *Progress) forgetMissed(now wallclock.Millis) {
	r.Last, r.Limited = max(r.Last, now), min(r.Limited, now)
}

// dropWaiting skips the instant that waits for the end of an occurrence.
func (r *Progress) dropWaiting() {
	if r.Waiting != 0 {
		r.Runs--
		r.Skipped = NewSkip(r.Waiting, SkippedOverlap)
		r.Waiting = 0
	}
}

// Pause pauses or resumes the schedule.
func (r *Progress) Pause(now wallclock.Millis, paused bool) {
	switch {
	case paused == r.Paused:
	case paused:
		r.Paused, r.PausedAt = true, now
		r.dropWaiting()
	default:
		r.Paused, r.PausedAt = false, 0
		r.forgetMissed(now)
	}
}
