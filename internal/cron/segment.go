package cron

import "time"

// horizon is the first instant that no rule answers about: the year 2400. The
// last is 1970. Both are seconds since 1970-01-01 UTC, as all instants here.
const horizon int64 = 13569465600

// Zones have been where they are for ever before their first change, and will be
// after their last.
const (
	always = -1 << 40
	ever   = 1 << 40
)

// settled is more than the clocks of a zone were ever put forward or back, and
// than they are away from UTC. So, this long after a change, no clock shows
// what it showed before it; and what a clock shows at c is shown by every clock
// of the world within settled of the instant c.
const settled = 2 * daySeconds

// segment is a time during which a zone's clocks run evenly: instants start to
// end (excluded), and what to add to one for what they show. Two segments that
// touch may have the same offset.
type segment struct{ start, end, offset int64 }

// segmentAt returns the segment of an instant. Its end may be early, never late.
func segmentAt(zone *time.Location, at int64) segment {
	start, end := bounds(zone, at)
	// For years without a table package time knows the rule of the year alone, not
	// when the zone came under it, and names the start by the rule: for Winamac in
	// Indiana an hour before it left another zone. What held at that start ends
	// when the segment really begins.
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

// bounds is package time's word about the segment of an instant.
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
		// The years to come have 365 days there, and on the last day of a leap year
		// the segment is over. It lasts until the year ends.
		end = at - at%daySeconds + daySeconds
	}
	return start, end
}

// civil returns what the segment's clocks show at an instant.
func (s segment) civil(at int64) Civil { return Civil(at + s.offset) }

// instant returns when they show c. What a gap before the segment swallowed is
// shown when the gap ends, as far as this can be: at the segment's start.
func (s segment) instant(c Civil) int64 { return max(s.start, int64(c)-s.offset) }

// shownBefore returns the first civil time that no clock showed before s
// began: what s shows below it is shown again, and what lies from it to the
// first that s shows was swallowed. s must have a start.
func (s segment) shownBefore(zone *time.Location) Civil {
	shown := Civil(always)
	for at := s.start; s.start-at < settled; {
		before := segmentAt(zone, at-1)
		shown = max(shown, before.civil(at))
		at = before.start
	}
	return shown
}
