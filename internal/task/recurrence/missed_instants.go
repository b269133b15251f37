package recurrence

import (
	"time"

	"github.com/foliot/foliot/internal/task/wallclock"
)

// Missed is the policy for missed instants, those that passed while no server
// could fire them, as a number that is part of the disk format.
type Missed uint8

// The policies for missed instants.
const (
	FireOnce   Missed = iota // fires the latest missed instant and skips the earlier ones
	SkipMissed               // skips all missed instants
	FireAll                  // fires the latest missed instants, at most CatchupLimit
)

// Choose returns the due instant to fire now, or 0 if none is left, and records
// the missed instants that the rule's policy skips.
//
// An instant that is fired within its grace is not missed, and missed instants
// that are older than the catchup window are skipped under every policy.
func (p *Progress) Choose(c *Calendar, now wallclock.Millis, skipped *[]Skip) wallclock.Millis {
	first := p.Upcoming(c)
	if first == 0 || first > now {
		return 0
	}
	latest := p.latest(c, now)
	first = p.skipTo(c, first, now-p.window(c, latest), SkippedWindow, skipped)
	at := latest
	switch {
	case first == 0 || first > now:
		return 0
	case p.Missed == FireAll:
		if first > p.Limited {
			first = p.skipTo(c, first, p.firstWithinLimit(c, first, latest), SkippedLimit, skipped)
			p.Limited = now
		}
		at = first
	case p.Missed == SkipMissed && now-latest > c.grace(latest):
		p.skipTo(c, first, latest+1, SkippedMissed, skipped)
		return 0
	default:
		p.skipTo(c, first, latest, SkippedMissed, skipped)
	}
	p.markHandled(c, at)
	return at
}

// CatchUp returns the instants that a schedule with the rule r fires at s.Until,
// and those that it skips, when no server could fire it from s.From until
// s.Until. The runs before do not count.
func (r *Rule) CatchUp(s Span) (fired []wallclock.Millis, skipped []Skip, err error) {
	c, err := r.Calendar()
	if err != nil {
		return nil, nil, err
	}
	p := Progress{Rule: *r, Last: s.From - 1}
	for at := p.Choose(&c, s.Until, &skipped); at != 0; at = p.Choose(&c, s.Until, &skipped) {
		p.MarkFired(&c, at)
		fired = append(fired, at)
	}
	return fired, skipped, nil
}

// window returns the age up to which a missed instant can still be fired. It is
// never shorter than the grace, because an instant within its grace was not
// missed.
func (p *Progress) window(c *Calendar, latest wallclock.Millis) wallclock.Millis {
	w := wallclock.Millis(p.CatchupWindow / time.Millisecond)
	if w < maxGrace {
		w = max(w, c.grace(latest))
	}
	return w
}

// skipTo records the instants from first up to, but not including, to as
// skipped, and returns the first instant after them, or 0 if there is none.
// Instants that were fired early, while the clock was ahead, are not recorded.
func (p *Progress) skipTo(c *Calendar, first, to wallclock.Millis, why string, skipped *[]Skip) wallclock.Millis {
	for first != 0 && first < to {
		p.markHandled(c, c.upTo(min(to, p.firedAfter(first))-1))
		*skipped = append(*skipped, Skip{Span{first, p.Last}, why})
		first = p.Upcoming(c)
	}
	return first
}

// latest returns the last instant at or before m that was not fired, or 0.
func (p *Progress) latest(c *Calendar, m wallclock.Millis) wallclock.Millis {
	at := c.upTo(m)
	for at != 0 {
		s, ok := p.FiredAt(at)
		if !ok {
			break
		}
		at = c.upTo(s.From - 1)
	}
	return at
}

// firstWithinLimit returns the first of the CatchupLimit instants up to latest,
// but at least first.
func (p *Progress) firstWithinLimit(c *Calendar, first, latest wallclock.Millis) wallclock.Millis {
	for n := p.CatchupLimit; n > 1 && latest > first; n-- {
		latest = p.latest(c, latest-1)
	}
	return latest
}

// The bounds of grace.
const minGrace, maxGrace wallclock.Millis = 1000, 60_000

// grace returns how late an instant can be fired without counting as missed: a
// tenth of the time to the next instant, within bounds.
func (c *Calendar) grace(at wallclock.Millis) wallclock.Millis {
	next := c.after(at, 0)
	if next == 0 {
		return maxGrace
	}
	return min(max((next-at)/10, minGrace), maxGrace)
}

// forgetMissed skips all missed instants up to now, and records none of them.
func (p *Progress) forgetMissed(now wallclock.Millis) {
	p.Last, p.Limited = max(p.Last, now), min(p.Limited, now)
}
