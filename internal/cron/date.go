package cron

import "time"

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds
)

// Civil is a time on a clock, without its zone: seconds since that clock's own
// 1970-01-01 00:00.
type Civil int64

// split returns the day that c is in, counted from 1970-01-01, and the seconds
// since its midnight.
func (c Civil) split() (day, seconds int) {
	day, seconds = int(c/daySeconds), int(c%daySeconds)
	if seconds < 0 {
		return day - 1, seconds + daySeconds
	}
	return day, seconds
}

// date is a day of the Gregorian calendar; month and day count from 1.
type date struct{ year, month, day int }

// dateOf returns the date of a day counted from 1970-01-01.
func dateOf(day int) date {
	y, m, d := time.Unix(int64(day)*daySeconds, 0).UTC().Date()
	return date{y, int(m), d}
}

// days is the inverse of dateOf.
func (d date) days() int { return int(d.civil() / daySeconds) }

// civil returns the midnight that d begins with.
func (d date) civil() Civil {
	return Civil(time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC).Unix())
}

// length returns the number of days of a month.
func length(year, month int) int {
	return date{year, month + 1, 1}.days() - date{year, month, 1}.days()
}

// weekday returns the day of the week, Sunday as 0, of a day counted from
// 1970-01-01, which was a Thursday.
func weekday(day int) int { return (day%7 + 7 + 4) % 7 }
