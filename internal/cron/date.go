package cron

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

// A year that begins in March has its leap day at its end, and an era of 400
// years has always the same number of days. That makes both directions plain
// arithmetic; 719468 is the number of days from 0000-03-01 to 1970-01-01.
const (
	eraDays   = 146097
	epochDays = 719468
)

// dateOf returns the date of a day counted from 1970-01-01. The day must be
// after 0000-03-01, as all days in this package are.
func dateOf(day int) date {
	day += epochDays
	era, day := day/eraDays, day%eraDays
	year := (day - day/1460 + day/36524 - day/(eraDays-1)) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153 // 0 is March
	d := date{era*400 + year, month + 3, day - (153*month+2)/5 + 1}
	if d.month > 12 {
		d.year, d.month = d.year+1, d.month-12
	}
	return d
}

// days is the inverse of dateOf.
func (d date) days() int {
	year, month := d.year, d.month-3
	if month < 0 {
		year, month = year-1, month+12
	}
	era, year := year/400, year%400
	return era*eraDays + year*365 + year/4 - year/100 + (153*month+2)/5 + d.day - 1 - epochDays
}

// civil returns the midnight that d begins with.
func (d date) civil() Civil { return Civil(d.days()) * daySeconds }

var monthDays = [...]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// length returns the number of days of a month.
func length(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month]
}

// weekday returns the day of the week, Sunday as 0, of a day counted from
// 1970-01-01, which was a Thursday.
func weekday(day int) int { return (day%7 + 7 + 4) % 7 }
