package recurrence

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/wallclock"
)

// LastInstant is the last time that RFC 3339 can write, as its years have four
// digits: 9999-12-31T23:59:59.999Z.
const LastInstant wallclock.Millis = 253_402_300_799_999

// Calendar yields the instants of a rule, without a record of those that were
// fired.
type Calendar struct {
	rule  cron.Rule        // valid if every is 0
	every wallclock.Millis // the distance between instants
	*Rule
}

// Calendar returns the instants of r, or an error if the zone is unknown.
func (r *Rule) Calendar() (Calendar, error) {
	c := Calendar{Rule: r}
	if r.Cron == "" {
		if c.every = wallclock.Millis(r.Every / time.Millisecond); c.every <= 0 { // a later version may have a third kind
			return c, &RuleError{"cron", "required", "the schedule has neither cron nor every"}
		}
		return c, nil
	}
	var err error
	c.rule, err = r.Clocks()
	return c, err
}

// Instants is Rule.Instants for a calendar.
func (c *Calendar) Instants(from, until wallclock.Millis, limit int) (all []wallclock.Millis) {
	for at := c.after(max(from-1, 0), 0); at != 0 && at <= until && len(all) < limit; at = c.after(at, 0) {
		all = append(all, at)
	}
	return all
}

// Count is Rule.Count for a calendar. It costs about a microsecond for each instant of an
// expression, and does not walk over those of an interval.
func (c *Calendar) Count(s Span, most int) int {
	if c.every != 0 {
		return int(min(wallclock.Millis(most), (s.Until-s.From)/c.every+1))
	}
	return c.rule.Count(s.From.Time(), s.Until.Time(), most)
}

// Clocks returns the expression of r and its zone; a rule with an interval has
// no expression, and its zone is UTC.
func (r *Rule) Clocks() (cron.Rule, error) {
	clocks := cron.Rule{Zone: time.UTC, Gap: r.Gap, Overlap: r.Fold}
	if r.Cron == "" {
		return clocks, nil
	}
	var err error
	if clocks.Expr, err = cron.Parse(r.Cron); err != nil {
		return clocks, &RuleError{"cron", "bad_cron", err.Error()}
	}
	if clocks.Zone, err = cron.LoadZone(r.Zone); err != nil {
		return clocks, &RuleError{"timezone", "bad_timezone", err.Error()}
	}
	return clocks, nil
}

// after returns the first instant after m, or 0, and for a fixed expression it
// skips the instants whose civil time is at or before done.
func (c *Calendar) after(m wallclock.Millis, done cron.Civil) wallclock.Millis {
	if c.Start != 0 && m < c.Start {
		m = c.Start - 1
	}
	var next wallclock.Millis
	if c.every != 0 {
		next = c.grid(m) + c.every
		if c.Start == 0 && next <= c.Anchor {
			next = c.Anchor + c.every
		}
	} else if at, ok := c.rule.Resume(m.Time(), done); ok {
		next = wallclock.Millis(at.UnixMilli())
	}
	if next > LastInstant || c.End != 0 && next > c.End {
		return 0
	}
	return next
}

// upTo returns the last instant at or before m, or 0.
func (c *Calendar) upTo(m wallclock.Millis) wallclock.Millis {
	if c.End != 0 {
		m = min(m, c.End)
	}
	var last wallclock.Millis
	if c.every != 0 {
		last = c.grid(m)
		if c.Start == 0 && last <= c.Anchor {
			return 0
		}
	} else if at, ok := c.rule.Prev(m.Time().Add(1)); ok {
		last = wallclock.Millis(at.UnixMilli())
	}
	if last < c.Start {
		return 0
	}
	return last
}

// grid returns the last multiple of Every, counted from the anchor, at or
// before m.
func (c *Calendar) grid(m wallclock.Millis) wallclock.Millis {
	steps := (m - c.Anchor) / c.every
	if m < c.Anchor && (m-c.Anchor)%c.every != 0 {
		steps--
	}
	return c.Anchor + steps*c.every
}

// civil returns the civil time of the instant at, or 0 if the rule is not a
// fixed expression.
func (c *Calendar) civil(at wallclock.Millis) cron.Civil {
	if c.every != 0 || !c.rule.Expr.Fixed() {
		return 0
	}
	return c.rule.Civil(at.Time())
}
