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

func segmentAt(zone *time.Location, at int64) segment {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	seg := segment{always, ever, int64(offset)}
	if !start.IsZero() {
		seg.start = start.Unix()
	}
	if !end.IsZero() {
		seg.end = end.Unix()
	}
	if seg.end <= at {
		// Package time gives years to come 365 days, and says on the last day of a
		// leap year that its segment is over. It lasts until the year ends.
		seg.end = at - at%daySeconds + daySeconds
	}
	return seg
}

// civil returns what the segment's clocks show at an instant.
func (s segment) civil(at int64) Civil { return Civil(at + s.offset) }

// instant returns when they show c. What a gap before the segment swallowed is
// shown when the gap ends, as far as this can be: at the segment's start.
func (s segment) instant(c Civil) int64 { return max(s.start, int64(c)-s.offset) }

// shownBefore returns the first civil time that no clock showed before s
// began: what s shows below it is shown again, and what lies from it to the
// first that s shows was swallowed.
func (s segment) shownBefore(zone *time.Location) Civil {
	if s.start == always {
		return always
	}
	shown := Civil(always)
	for at := s.start; s.start-at < settled; {
		before := segmentAt(zone, at-1)
		shown = max(shown, before.civil(at))
		at = before.start
	}
	return shown
}
