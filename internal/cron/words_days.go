package cron

import "fmt"

const (
	allDates  set = 1<<32 - 2
	allMonths set = 1<<13 - 2
	workdays  set = 1<<6 - 2
)

var (
	weekdayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	monthNames   = [...]string{
		"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
	}
	nthNames = [...]string{"last", "first", "second", "third", "fourth", "fifth"}
)

// words describes the days; "" means every day.
func (s *daySet) words() string {
	everyDate, everyWeekday := s.dates == allDates, s.week == wholeWeek
	switch {
	case everyDate && everyWeekday, !s.both && (everyDate || everyWeekday):
		return ""
	case everyDate:
		return "on " + s.weekWords()
	case everyWeekday && s.namesMonth():
		return "on " + s.dateWords(monthNames[s.months.first()])
	case everyWeekday:
		return "on " + s.dateWords("the month")
	case s.both:
		return "on " + s.dateWords("the month") + ", but only on " + s.weekWords()
	}
	return "on " + s.dateWords("the month") + " and also on " + s.weekWords()
}

// namesMonth reports whether words includes the month: "on the 1st of January".
func (s *daySet) namesMonth() bool {
	return s.months.len() == 1 && s.both && s.week == wholeWeek && s.dates != allDates
}

// dateWords returns, for example, "the 1st, the 15th and the last day of
// January".
func (s *daySet) dateWords(month string) string {
	of := " of " + month
	if every := s.everyNth(); every != "" {
		return every + of
	}
	var days []string
	if s.dates != 0 {
		days = runs(s.dates, func(d int) string { return "the " + ordinal(d) })
	}
	s.ends.each(func(before int) {
		if before == 0 {
			days = append(days, "the last day")
			return
		}
		days = append(days, "the "+ordinal(before)+" day before the last")
	})
	return list(days) + of
}

// everyNth returns, for example, "every 2nd day from the 1st", for a step
// through the whole month.
func (s *daySet) everyNth() string {
	first := s.dates.first()
	if s.ends != 0 || s.dates.len() < 4 {
		return ""
	}
	step := s.dates.from(first+1).first() - first
	if step < 2 || s.dates != span(first, 31, step) {
		return ""
	}
	return fmt.Sprintf("every %s day from the %s", ordinal(step), ordinal(first))
}

// weekWords returns, for example, "Mondays and the second Friday of the month".
func (s *daySet) weekWords() string {
	var days []string
	if s.week != 0 {
		days = weekdayWords(s.week)
	}
	var some []string
	for w, nth := range s.nth {
		nth.each(func(i int) { some = append(some, "the "+nthNames[i]+" "+weekdayNames[w]) })
	}
	if len(some) > 0 {
		some[len(some)-1] += " of the month"
	}
	return list(append(days, some...))
}

func weekdayWords(week set) []string {
	switch {
	case week == workdays:
		return []string{"weekdays"}
	case week.len() >= 3 && week != wholeWeek:
		if from, to, ok := weekRun(week); ok {
			return []string{weekdayNames[from] + " to " + weekdayNames[to]}
		}
	}
	var names []string
	for i := range 7 { // Sunday ends the week, as in most sentences
		if w := (i + 1) % 7; week.has(w) {
			names = append(names, weekdayNames[w]+"s")
		}
	}
	return names
}

// weekRun returns the ends of a run of consecutive weekdays, which may cross
// the end of the week.
func weekRun(week set) (from, to int, ok bool) {
	for from = range 7 {
		n := week.len()
		run := span(from, from+n-1, 1)
		if (run|run>>7)&wholeWeek == week {
			return from, (from + n - 1) % 7, true
		}
	}
	return 0, 0, false
}

// monthWords returns, for example, "from June to August" or "in January and
// March". "" means every month, or a month that words includes.
func (s *daySet) monthWords() string {
	if s.months == allMonths || s.namesMonth() {
		return ""
	}
	if s.months.len() > 2 && s.months.unbroken() {
		return "from " + monthNames[s.months.first()] + " to " + monthNames[s.months.last()]
	}
	return "in " + list(runs(s.months, func(m int) string { return monthNames[m] }))
}

func ordinal(n int) string {
	suffix := "th"
	if n < 11 || n > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n) + suffix
}
