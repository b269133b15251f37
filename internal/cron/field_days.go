package cron

import "strings"

// longestEnd is the maximum after L-: the first day of the longest months.
const longestEnd = 30

// parseDates parses the day-of-month field: a list that may have L and L-3.
func (s *daySet) parseDates(text string) error {
	if text == "?" {
		text = "*"
	}
	f := &dateField
	return f.items(text, func(item string) error {
		upper := strings.ToUpper(item)
		switch before, isEnd := strings.CutPrefix(upper, "L-"); {
		case upper == "L":
			s.ends |= 1
			return nil
		case isEnd:
			n, ok := number(before)
			if !ok || n < 1 || n > longestEnd {
				return f.refuse(item, "L- must be followed by the number of days before the last day of the month, 1 to %d", longestEnd)
			}
			s.ends |= 1 << n
			return nil
		case strings.HasSuffix(upper, "W"):
			return f.refuse(item, "W, the nearest weekday, is not supported: name the days, or a weekday such as MON#1")
		}
		members, err := f.item(item)
		s.dates |= members
		return err
	})
}

// parseWeek parses the day-of-week field: a list that may have 7, FRIL and
// MON#2.
func (s *daySet) parseWeek(text string) error {
	if text == "?" {
		text = "*"
	}
	f := &weekField
	return f.items(text, func(item string) error {
		day, nth, counted := strings.Cut(item, "#")
		if counted {
			n, ok := number(nth)
			if !ok || n < 1 || n > 5 {
				return f.refuse(item, "# must be followed by a number from 1 to 5, such as MON#1 for the first Monday")
			}
			return s.addNth(item, day, n)
		}
		if n := len(item) - 1; item[n] == 'L' || item[n] == 'l' {
			if n == 0 {
				return f.refuse(item, "L follows a weekday, as in FRIL; for the last day of the month, write L in the field day-of-month")
			}
			return s.addNth(item, item[:n], 0)
		}
		members, err := f.item(item)
		s.week |= (members | members>>7) & wholeWeek // 7 is Sunday, 8 Monday …
		return err
	})
}

// addNth adds the nth weekday of that name in the month; n = 0 is the last.
func (s *daySet) addNth(item, day string, n int) error {
	w, _, err := weekField.value(item, day)
	if err != nil {
		return err
	}
	s.nth[w%7] |= 1 << n
	return nil
}
