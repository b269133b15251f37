package cron

// The search runs in civil time alone: it finds the day by the bits of its
// month, then hour, minute and second by theirs. rule.go translates civil times
// to instants of a zone.

// firstYear and endYear bound the search. They are a little outside of the
// years that a rule covers, 1970 to 2400, because zones are up to a day apart.
// The range is longer than the 400 years after which dates and weekdays repeat.
const (
	firstYear = 1969
	endYear   = 2401
)

// clockSet holds the times of day of an expression: all combinations of its
// hours, minutes and seconds.
type clockSet struct{ hours, minutes, seconds set }

func (s clockSet) at(hour, minute, second int) int {
	return hour*hourSeconds + minute*minuteSeconds + second
}

func (s clockSet) first() int {
	return s.at(s.hours.first(), s.minutes.first(), s.seconds.first())
}

func (s clockSet) last() int { return s.at(s.hours.last(), s.minutes.last(), s.seconds.last()) }

// next returns the first time of day at or after from, in seconds since
// midnight, and false if the day has no further one.
func (s clockSet) next(from int) (int, bool) {
	hour, minute, second := from/hourSeconds, from/minuteSeconds%60, from%60
	if s.hours.has(hour) {
		if rest := s.seconds.from(second); rest != 0 && s.minutes.has(minute) {
			return s.at(hour, minute, rest.first()), true
		}
		if rest := s.minutes.from(minute + 1); rest != 0 {
			return s.at(hour, rest.first(), s.seconds.first()), true
		}
	}
	rest := s.hours.from(hour + 1)
	if rest == 0 {
		return 0, false
	}
	return s.at(rest.first(), s.minutes.first(), s.seconds.first()), true
}

// prev returns the last time of the day at or before to.
func (s clockSet) prev(to int) (int, bool) {
	hour, minute, second := to/hourSeconds, to/minuteSeconds%60, to%60
	if s.hours.has(hour) {
		if rest := s.seconds.to(second); rest != 0 && s.minutes.has(minute) {
			return s.at(hour, minute, rest.last()), true
		}
		if rest := s.minutes.to(minute - 1); rest != 0 {
			return s.at(hour, rest.last(), s.seconds.last()), true
		}
	}
	rest := s.hours.to(hour - 1)
	if rest == 0 {
		return 0, false
	}
	return s.at(rest.last(), s.minutes.last(), s.seconds.last()), true
}

// daySet holds the days of an expression.
type daySet struct {
	months set
	dates  set    // days of the month
	ends   set    // days of the month counted from its end: 0 is the last one
	week   set    // days of the week
	nth    [7]set // by the day of the week: 2 is the second one of the month, 0 the last

	both bool // a day must match both the day of the month and the day of the week; otherwise one of them is enough
}

// of returns the days that s has in a month of a year, without a check that s
// has the month.
func (s *daySet) of(year, month int) set {
	n := length(year, month)
	dates := s.dates
	s.ends.each(func(before int) {
		if before < n {
			dates |= 1 << (n - before)
		}
	})
	week := s.weekdaysOf(date{year, month, 1}.days(), n)
	if s.both {
		return dates & week & span1(n)
	}
	return (dates | week) & span1(n)
}

// span1 is {1 … n}.
func span1(n int) set { return 2<<n - 2 }

// weekdaysOf returns the days that the weekday field allows in a month of n
// days that begins with day.
func (s *daySet) weekdaysOf(day, n int) set {
	if s.week == wholeWeek {
		return span1(n)
	}
	begin := weekday(day)
	seven := (s.week | s.week<<7) >> begin & wholeWeek // bit 0 is the month's first day
	days := (seven | seven<<7 | seven<<14 | seven<<21 | seven<<28) << 1
	for w, nth := range s.nth {
		if nth == 0 {
			continue
		}
		first := 1 + (w-begin+7)%7
		nth.each(func(i int) {
			if i == 0 {
				i = (n-first)/7 + 1
			}
			if d := first + 7*(i-1); d <= n {
				days |= 1 << d
			}
		})
	}
	return days
}

// next returns the first day of s at or after d, and the day of d may be one
// past the end of its month.
func (s *daySet) next(d date) (date, bool) {
	for d.year < endYear {
		if s.months.has(d.month) {
			if rest := s.of(d.year, d.month).from(d.day); rest != 0 {
				d.day = rest.first()
				return d, true
			}
		}
		d.day = 1
		if d.month++; d.month > 12 {
			d.year, d.month = d.year+1, 1
		}
	}
	return date{}, false
}

// prev returns the last day of s at or before d, and the day of d may be 0.
func (s *daySet) prev(d date) (date, bool) {
	for d.year >= firstYear {
		if s.months.has(d.month) {
			if rest := s.of(d.year, d.month).to(d.day); rest != 0 {
				d.day = rest.last()
				return d, true
			}
		}
		d.day = 31
		if d.month--; d.month == 0 {
			d.year, d.month = d.year-1, 12
		}
	}
	return date{}, false
}

// next returns the first civil time of e at or after c.
func (e *Expr) next(c Civil) (Civil, bool) {
	day, seconds := c.split()
	today := dateOf(day)
	d, ok := e.days.next(today)
	if !ok {
		return 0, false
	}
	if d != today {
		return d.civil() + Civil(e.clock.first()), true
	}
	if at, ok := e.clock.next(seconds); ok {
		return c + Civil(at-seconds), true
	}
	today.day++
	if d, ok = e.days.next(today); !ok {
		return 0, false
	}
	return d.civil() + Civil(e.clock.first()), true
}

// prev returns the last civil time of e at or before c.
func (e *Expr) prev(c Civil) (Civil, bool) {
	day, seconds := c.split()
	today := dateOf(day)
	d, ok := e.days.prev(today)
	if !ok {
		return 0, false
	}
	if d != today {
		return d.civil() + Civil(e.clock.last()), true
	}
	if at, ok := e.clock.prev(seconds); ok {
		return c + Civil(at-seconds), true
	}
	today.day--
	if d, ok = e.days.prev(today); !ok {
		return 0, false
	}
	return d.civil() + Civil(e.clock.last()), true
}
