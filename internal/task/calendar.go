package task

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
)

// lastInstant is the last time that RFC 3339 can write, as its years have four
// digits: 9999-12-31T23:59:59.999Z.
const lastInstant Millis = 253_402_300_799_999

// calendar yields the instants of a rule. It has no record of the instants that
// were fired.
type calendar struct {
	rule  cron.Rule // valid if every is 0
	every Millis    // the distance between instants
	*Rule
}

// calendar returns the instants of r. It returns an error if the zone is
// unknown.
func (r *Rule) calendar() (calendar, error) {
	c := calendar{Rule: r}
	if r.Cron == "" {
		if c.every = Millis(r.Every / time.Millisecond); c.every <= 0 { // a later version may have a third kind
			return c, &FieldError{"cron", "required", "the schedule has neither cron nor every"}
		}
		return c, nil
	}
	expr, err := cron.Parse(r.Cron)
	if err != nil {
		return c, &FieldError{"cron", "bad_cron", err.Error()}
	}
	zone, err := cron.LoadZone(r.Zone)
	if err != nil {
		return c, &FieldError{"timezone", "bad_timezone", err.Error()}
	}
	c.rule = cron.Rule{Expr: expr, Zone: zone, Gap: r.Gap, Overlap: r.Fold}
	return c, nil
}

// after returns the first instant after m, or 0. For a fixed expression it
// skips the instants whose civil time is at or before done.
func (c *calendar) after(m Millis, done cron.Civil) Millis {
	if c.Start != 0 && m < c.Start {
		m = c.Start - 1
	}
	var next Millis
	if c.every != 0 {
		next = c.grid(m) + c.every
		if c.Start == 0 && next <= c.Anchor {
			next = c.Anchor + c.every
		}
	} else if at, ok := c.rule.Resume(m.Time(), done); ok {
		next = Millis(at.UnixMilli())
	}
	if next > lastInstant || c.End != 0 && next > c.End {
		return 0
	}
	return next
}

// upTo returns the last instant at or before m, or 0.
func (c *calendar) upTo(m Millis) Millis {
	if c.End != 0 {
		m = min(m, c.End)
	}
	var last Millis
	if c.every != 0 {
		last = c.grid(m)
		if c.Start == 0 && last <= c.Anchor {
			return 0
		}
	} else if at, ok := c.rule.Prev(m.Time().Add(1)); ok {
		last = Millis(at.UnixMilli())
	}
	if last < c.Start {
		return 0
	}
	return last
}

// grid returns the last multiple of Every, counted from the anchor, at or
// before m.
func (c *calendar) grid(m Millis) Millis {
	steps := (m - c.Anchor) / c.every
	if m < c.Anchor && (m-c.Anchor)%c.every != 0 {
		steps--
	}
	return c.Anchor + steps*c.every
}

// civil returns the civil time of the instant at, or 0 if the rule is not a
// fixed expression.
func (c *calendar) civil(at Millis) cron.Civil {
	if c.every != 0 || !c.rule.Expr.Fixed() {
		return 0
	}
	return c.rule.Civil(at.Time())
}

// The bounds of grace.
const minGrace, maxGrace Millis = 1000, 60_000

// grace is how late an instant may be fired without counting as missed: a tenth
// of the time to the next instant, within bounds.
func (c *calendar) grace(at Millis) Millis {
	next := c.after(at, 0)
	if next == 0 {
		return maxGrace
	}
	return min(max((next-at)/10, minGrace), maxGrace)
}

// Instants returns at most limit instants in [from, until], the earliest first.
// None is at or before 1970-01-01T00:00:00Z, because 0 means "no instant". Each
// instant costs microseconds.
func (r *Rule) Instants(from, until Millis, limit int) ([]Millis, error) {
	c, err := r.calendar()
	if err != nil {
		return nil, err
	}
	var all []Millis
	for at := c.after(max(from-1, 0), 0); at != 0 && at <= until && len(all) < limit; at = c.after(at, 0) {
		all = append(all, at)
	}
	return all, nil
}

// Count returns the number of instants in s, at most most.
func (r *Rule) Count(s Span, most int) (n int) {
	c, err := r.calendar()
	if err != nil {
		return 0
	}
	if c.every != 0 {
		return int(min(Millis(most), (s.Until-s.From)/c.every+1))
	}
	return c.rule.Count(s.From.Time(), s.Until.Time(), most)
}
