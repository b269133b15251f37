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
// when the clock was set back. A span ends where an instant was skipped.
//
// MaxSpans is the maximum number of spans. If there are more, the two closest
// spans of the past are joined, and the instants skipped between them are
// skipped for good. Therefore no fired instant is forgotten. The instants of an
// hour that the clock jumped over can still fire, because that hour is ahead, or
// between spans that are far apart.
const MaxSpans = 16

// MarkFired records that the instant at was fired.
func (r *Progress) MarkFired(c *Calendar, at wallclock.Millis) {
	r.Runs++
	i, _ := slices.BinarySearchFunc(r.Fired, at, func(s Span, at wallclock.Millis) int { return cmp.Compare(s.From, at) })
	r.Fired = slices.Insert(r.Fired, i, Span{at, at})
	if next := i + 1; next < len(r.Fired) && c.after(at, 0) >= r.Fired[next].From {
		r.join(i)
	}
	if i > 0 && c.upTo(at-1) <= r.Fired[i-1].Until {
		i--
		r.join(i)
	}
	if len(r.Fired) > MaxSpans {
		r.join(r.closest(i))
	}
}

// join joins span i and the next one.
func (r *Progress) join(i int) {
	r.Fired[i].Until = r.Fired[i+1].Until
	r.Fired = slices.Delete(r.Fired, i+1, i+2)
}

// closest returns the span, of the first now spans, that is closest to the next
// one. If there is none, because the clock was set back to before them all, it
// considers all spans.
func (r *Progress) closest(now int) (i int) {
	gap := func(i int) wallclock.Millis { return r.Fired[i+1].From - r.Fired[i].Until }
	if now == 0 {
		now = len(r.Fired) - 1
	}
	for j := range now {
		if gap(j) < gap(i) {
			i = j
		}
	}
	return i
}

// FiredAt returns the span of fired instants that contains at.
func (r *Progress) FiredAt(at wallclock.Millis) (Span, bool) {
	for _, s := range slices.Backward(r.Fired) {
		if s.From <= at && at <= s.Until {
			return s, true
		}
	}
	return Span{}, false
}

// firedAfter returns the first fired instant after at. If there is none, it
// returns the greatest number.
func (r *Progress) firedAfter(at wallclock.Millis) wallclock.Millis {
	for _, s := range r.Fired {
		if s.From > at {
			return s.From
		}
	}
	return math.MaxInt64
}
