package recurrence

import (
	"cmp"
	"math"
	"slices"

	"github.com/foliot/foliot/internal/task/wallclock"
)

// Span is a run of consecutive instants, both ends included.
type Span struct{ From, Until wallclock.Millis }

// A schedule records its fired instants in spans, so that none is fired twice
// when the clock was set back, and a span ends where an instant was skipped.
//
// MaxSpans is the maximum number of spans. If there are more, the two closest
// spans of the past are joined, and the instants skipped between them are
// skipped for good, so no fired instant is forgotten. The instants of an hour
// that the clock jumped over can still fire, because that hour is ahead, or
// between spans that are far apart.
const MaxSpans = 16

// MarkFired records that the instant at was fired.
func (p *Progress) MarkFired(c *Calendar, at wallclock.Millis) {
	p.Runs++
	i, _ := slices.BinarySearchFunc(p.Fired, at, func(s Span, at wallclock.Millis) int { return cmp.Compare(s.From, at) })
	p.Fired = slices.Insert(p.Fired, i, Span{at, at})
	if next := i + 1; next < len(p.Fired) && c.after(at, 0) >= p.Fired[next].From {
		p.join(i)
	}
	if i > 0 && c.upTo(at-1) <= p.Fired[i-1].Until {
		i--
		p.join(i)
	}
	if len(p.Fired) > MaxSpans {
		p.join(p.closest(i))
	}
}

// join joins span i and the next one.
func (p *Progress) join(i int) {
	p.Fired[i].Until = p.Fired[i+1].Until
	p.Fired = slices.Delete(p.Fired, i+1, i+2)
}

// closest returns the span, of the first now spans, that is closest to the next
// one. If there is none, because the clock was set back to before them all, it
// considers all spans.
func (p *Progress) closest(now int) (i int) {
	gap := func(i int) wallclock.Millis { return p.Fired[i+1].From - p.Fired[i].Until }
	if now == 0 {
		now = len(p.Fired) - 1
	}
	for j := range now {
		if gap(j) < gap(i) {
			i = j
		}
	}
	return i
}

// FiredAt returns the span of fired instants that contains at.
func (p *Progress) FiredAt(at wallclock.Millis) (Span, bool) {
	for _, s := range slices.Backward(p.Fired) {
		if s.From <= at && at <= s.Until {
			return s, true
		}
	}
	return Span{}, false
}

// firedAfter returns the first fired instant after at, or the greatest number
// if there is none.
func (p *Progress) firedAfter(at wallclock.Millis) wallclock.Millis {
	for _, s := range p.Fired {
		if s.From > at {
			return s.From
		}
	}
	return math.MaxInt64
}
