package cron

import "time"

// horizon is the first instant after the range of rules: the year 2400. The
// first instant of the range is 1970. All instants here are seconds since
// 1970-01-01 UTC.
const horizon int64 = 13569465600

// The first segment of a zone begins at always, and the last one ends at ever.
const (
	always = -1 << 40
	ever   = 1 << 40
)

// settled exceeds every change of a zone's clocks, and every offset from UTC.
// So, this long after a change, no clock shows a time that it showed before the
// change. And every clock of the world shows c within settled of the instant c.
const settled = 2 * daySeconds

// segment is a time during which a zone's clocks run evenly: the instants from
// start to end (excluded), and the offset to add to an instant for the time on
// the clocks. Adjacent segments may have the same offset.
type segment struct{ start, end, offset int64 }

// segmentAt returns the segment of an instant. Its end may be early, never late.
func segmentAt(zone *time.Location, at int64) segment {
	start, end := bounds(zone, at)
	// For years without a table, package time applies the year's rule from the
	// rule's own start, not from the time at which the zone adopted it. For
	// Winamac in Indiana that start is an hour before it left another zone. The
	// state at that start ends when the segment really begins.
	for start != always {
		_, earlier := bounds(zone, start)
		if earlier > at {
			break
		}
		start = earlier
	}
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return segment{start, end, int64(offset)}
}

// bounds returns the segment of an instant as package time has it.
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
		// For future years, package time assumes 365 days, so on the last day
		// of a leap year its segment is over. In fact it lasts until the year
		// ends.
		end = at - at%daySeconds + daySeconds
	}
	return start, end
}

// civil returns the time that the segment's clocks show at an instant.
func (s segment) civil(at int64) Civil { return Civil(at + s.offset) }

// instant returns the instant at which the clocks show c. The times in a gap
// before the segment are shown at the end of the gap, which is the segment's
// start.
func (s segment) instant(c Civil) int64 { return max(s.start, int64(c)-s.offset) }

// shownBefore returns the first civil time that no clock showed before s began.
// Times that s shows below it are shown again. Times from it to the first time
// that s shows were in a gap. s must have a start.
func (s segment) shownBefore(zone *time.Location) Civil {
	shown := Civil(always)
	for at := s.start; s.start-at < settled; {
		before := segmentAt(zone, at-1)
		shown = max(shown, before.civil(at))
		at = before.start
	}
	return shown
}
