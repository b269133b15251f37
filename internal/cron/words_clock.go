package cron

import "fmt"

const (
	allHours   set = 1<<24 - 1
	allMinutes set = 1<<60 - 1
)

// mostTimes is the maximum number of times of day that a sentence lists.
const mostTimes = 6

func (s clockSet) words() string {
	switch {
	case s.hours.len()*s.minutes.len()*s.seconds.len() <= mostTimes:
		return "at " + list(s.times())
	case s.seconds == 1:
		return s.minuteWords()
	}
	seconds := everyOr(s.seconds, 60, "second")
	if s.minutes != allMinutes {
		return fmt.Sprintf("%s of %s of %s", seconds, numbered(s.minutes, "minute"), numbered(s.hours, "hour"))
	}
	if s.seconds.stride(60) == 0 {
		seconds += " of every minute"
	}
	return seconds + s.hourWindow()
}

// times lists the times of the day: "09:00", "09:00:30".
func (s clockSet) times() []string {
	var times []string
	s.hours.each(func(h int) {
		s.minutes.each(func(m int) {
			s.seconds.each(func(sec int) {
				text := fmt.Sprintf("%02d:%02d", h, m)
				if s.seconds != 1 {
					text += fmt.Sprintf(":%02d", sec)
				}
				times = append(times, text)
			})
		})
	})
	return times
}

// minuteWords describes the times of an expression without seconds.
func (s clockSet) minuteWords() string {
	minute := s.minutes.first()
	switch hours := s.hours.stride(24); {
	case s.minutes.len() > 1 && s.minutes.stride(60) > 0:
		return everyOr(s.minutes, 60, "minute") + s.hourWindow()
	case s.minutes.len() > 1:
		return fmt.Sprintf("at %s of %s", numbered(s.minutes, "minute"), numbered(s.hours, "hour"))
	case hours == 1 && minute == 0:
		return "every hour, on the hour"
	case hours == 1:
		return fmt.Sprintf("at minute %d of every hour", minute)
	case hours > 1:
		return fmt.Sprintf("every %d hours from 00:%02d", hours, minute)
	case s.hours.unbroken():
		return fmt.Sprintf("every hour from %02d:%02d to %02d:%02d", s.hours.first(), minute, s.hours.last(), minute)
	}
	return fmt.Sprintf("at minute %d of %s", minute, numbered(s.hours, "hour"))
}

// hourWindow describes the hours during which something repeats.
func (s clockSet) hourWindow() string {
	switch {
	case s.hours == allHours:
		return ""
	case s.hours.unbroken():
		return fmt.Sprintf(" between %02d:00 and %02d:59", s.hours.first(), s.hours.last())
	}
	return " of " + numbered(s.hours, "hour")
}

func (s set) unbroken() bool { return s == span(s.first(), s.last(), 1) }

// everyOr returns "every minute", "every 15 minutes", or "at" and the words of
// numbered.
func everyOr(s set, size int, noun string) string {
	switch n := s.stride(size); {
	case n == 1:
		return "every " + noun
	case n > 1 && n < size:
		return fmt.Sprintf("every %d %ss", n, noun)
	}
	return "at " + numbered(s, noun)
}

// numbered returns "minute 5", "minutes 5, 7 and 10 to 12", "every hour".
func numbered(s set, noun string) string {
	switch {
	case noun == "hour" && s == allHours, noun == "minute" && s == allMinutes:
		return "every " + noun
	case s.len() > 1:
		noun += "s"
	}
	return noun + " " + list(runs(s, func(v int) string { return fmt.Sprint(v) }))
}
