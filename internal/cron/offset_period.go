package cron

import "time"

// horizon is the first instant after the range of rules, which goes from 1970 to
// 2400, in seconds since 1970-01-01 UTC, as are all instants here.
const horizon int64 = 13569465600

// The first period of a zone begins at always, and the last one ends at ever.
const (
	always = -1 << 40
	ever   = 1 << 40
)

// settled exceeds every change of a zone's clocks, and every offset from UTC, so
// no clock shows, this long after a change, a time that it showed before the
// change. Every clock of the world shows the civil time c at an instant that
// differs from the instant c by less than settled.
const settled = 2 * daySeconds

// offsetPeriod is a period during which a zone has one offset from UTC, from
// start until before end. An instant plus offset is the time on the zone's
// clocks, and adjacent periods can have the same offset.
type offsetPeriod struct{ start, end, offset int64 }

// offsetPeriodAt returns the period of an instant, with an end that can be too
// early, but never too late.
func offsetPeriodAt(zone *time.Location, at int64) offsetPeriod {
	start, end := bounds(zone, at)
	// For years without a table, package time applies the year's rule from the
	// rule's own start, not from the time at which the zone adopted it. For
	// Winamac in Indiana that start is an hour before it left another zone. The
	// state at that start ends when the period really begins.
	for start != always {
		_, earlier := bounds(zone, start)
		if earlier > at {
			break
		}
		start = earlier
	}
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return offsetPeriod{start, end, int64(offset)}
}

// bounds returns the bounds that package time has for the period of an instant.
func bounds(zone *time.Location, at int64) (start, end int64) {
	from, until := time.Unix(at, 0).In(zone).ZoneBounds()
	start, end = always, ever
	if !from.IsZero() {
		start = from.Unix()
	}
	if !until.IsZero() {
		end = until.Unix()
	}
	if end <= at {
		// For future years, package time assumes 365 days, so its period ends
		// before the last day of a leap year. In fact the period lasts until the
		// year ends.
		end = at - at%daySeconds + daySeconds
	}
	return start, end
}

// civil returns the time that the period's clocks show at an instant.
func (p offsetPeriod) civil(at int64) Civil { return Civil(at + p.offset) }

// instant returns the instant at which the clocks show c. The times in a gap
// before the period are shown at the end of the gap, which is the period's
// start.
func (p offsetPeriod) instant(c Civil) int64 { return max(p.start, int64(c)-p.offset) }

// shownBefore returns the first civil time that no clock of the zone showed
// before p began. If p shows earlier times, it shows them again. The times
// between the result and the first time that p shows, if any, were in a gap. p
// must have a start.
func (p offsetPeriod) shownBefore(zone *time.Location) Civil {
	shown := Civil(always)
	for at := p.start; p.start-at < settled; {
		before := offsetPeriodAt(zone, at-1)
		shown = max(shown, before.civil(at))
		at = before.start
	}
	return shown
}
