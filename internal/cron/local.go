package cron

import (
	"strings"
	"time"
)

// ParseLocal returns the instant at which the clocks of a zone show a local
// time. The text is YYYY-MM-DD HH:MM, which :SS or :SS.mmm can follow, and a T
// can replace the space. The zone is a name that LoadZone knows, and the year is
// from 1970 to 2399.
//
// The hard days are those of a fixed expression with the default policies: if a
// clock change skips the time, the result is the end of the gap, and if the time
// occurs twice, the result is the first one. An error about the zone is the one
// of LoadZone, and no error names a field of a request.
func ParseLocal(text, zone string) (time.Time, error) {
	shown, err := parseClock(text)
	if err != nil {
		return time.Time{}, err
	}
	location, err := LoadZone(zone)
	if err != nil {
		return time.Time{}, err
	}
	c := Civil(shown.Unix())
	at := Rule{Zone: location}.reached(c)
	if offsetPeriodAt(location, at).civil(at) != c { // it is in a gap, and at is the end of the gap
		return time.Unix(at, 0).In(location), nil
	}
	return time.Unix(at, int64(shown.Nanosecond())).In(location), nil
}

// parseClock returns a local time as if it was in UTC. Package time accepts more
// than ParseLocal: an hour with one digit, and a fraction after a comma.
func parseClock(text string) (time.Time, error) {
	const minutes, longest = "2006-01-02T15:04", "2006-01-02T15:04:05.000"
	written := strings.Replace(text, " ", "T", 1)
	layout := minutes
	if len(written) > len(minutes) {
		layout = "2006-01-02T15:04:05"
	}
	t, err := time.Parse(layout, written)
	if err != nil && strings.Contains(err.Error(), "out of range") {
		return t, refuse("local time", text, "the calendar has no such day, or the day no such time")
	}
	if err != nil || len(written) > len(longest) || !strings.HasPrefix(written, t.Format(layout)) || strings.Contains(written, ",") {
		return t, refuse("local time", text, "write YYYY-MM-DD HH:MM or YYYY-MM-DD HH:MM:SS, such as 2027-03-28 09:00")
	}
	if t.Year() < 1970 || t.Year() > 2399 {
		return t, refuse("local time", text, "the year must be from 1970 to 2399")
	}
	return t, nil
}
