package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/timespan"
)

// Bounds of an expression that Parse accepts.
const (
	maxLength = 256                        // bytes of an expression
	minEvery  = time.Second                // of @every
	maxEvery  = 100 * 365 * 24 * time.Hour // of @every
)

// Expr is a parsed expression, which does not change, so any number of
// goroutines may use it.
type Expr struct {
	text  string
	every time.Duration // of @every; the fields below are then unset

	clock clockSet
	days  daySet
	fixed bool
}

// shorthands maps words to the five fields they stand for.
var shorthands = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	"@monthly": "0 0 1 * *",
	"@weekly":  "0 0 * * 0",
	"@daily":   "0 0 * * *", "@midnight": "0 0 * * *",
	"@hourly": "0 * * * *",
}

// Parse parses an expression, in microseconds; the package comment describes
// the syntax.
func Parse(text string) (*Expr, error) {
	if len(text) > maxLength {
		return nil, refuse("expression", text, "it is longer than %d bytes", maxLength)
	}
	words := strings.Fields(text)
	text = strings.Join(words, " ")
	if len(words) > 0 && words[0][0] == '@' {
		return parseWord(text, words)
	}
	if err := checkCount(text, words); err != nil {
		return nil, err
	}
	return parseFields(text, words)
}

func parseWord(text string, words []string) (*Expr, error) {
	word := strings.ToLower(words[0])
	if word == "@every" {
		return parseEvery(text, words[1:])
	}
	if fields, ok := shorthands[word]; ok && len(words) == 1 {
		return parseFields(text, strings.Fields(fields))
	}
	if word == "@reboot" {
		return nil, refuse("expression", text, "a schedule does not know when a machine starts: let the init system of that machine (systemd: Type=oneshot) call the URL with curl")
	}
	return nil, refuse("expression", text, "must be one of @yearly, @monthly, @weekly, @daily, @hourly and \"@every 90s\", alone")
}

func parseEvery(text string, words []string) (*Expr, error) {
	if len(words) != 1 {
		return nil, refuse("expression", text, "@every must be followed by one duration, such as 90s or 1h30m")
	}
	every, err := timespan.Parse(words[0])
	switch {
	case err != nil:
		return nil, refuse("@every", words[0], "invalid duration: write a number with a unit, such as 90s, 15m or 1h30m")
	case every < minEvery || every > maxEvery:
		return nil, refuse("@every", words[0], "must be between 1s and %dh (100 years)", int(maxEvery.Hours()))
	case every%time.Millisecond != 0:
		return nil, refuse("@every", words[0], "must be in whole milliseconds")
	}
	return &Expr{text: text, every: every}, nil
}

// checkCount refuses an expression without five or six fields, with a hint for
// the syntax of other programs.
func checkCount(text string, words []string) error {
	switch n := len(words); {
	case n == 0:
		return refuse("expression", "", "it is empty: five fields are minute, hour, day-of-month, month and day-of-week, as in 0 21 * * MON-FRI")
	case strings.HasPrefix(words[0], "TZ=") || strings.HasPrefix(words[0], "CRON_TZ="):
		return refuse("expression", text, "the time zone is not a part of the expression: pass it separately")
	case n == 7:
		return refuse("expression", text, "it has 7 fields, and years are not supported: six are second, minute, hour, day-of-month, month and day-of-week")
	case n != 5 && n != 6:
		has := fmt.Sprintf("%d fields", n)
		if n == 1 {
			has = "1 field"
		}
		return refuse("expression", text, "it has %s: five are minute, hour, day-of-month, month and day-of-week; six have the second before them", has)
	}
	return nil
}

// parseFields parses five or six fields.
func parseFields(text string, words []string) (*Expr, error) {
	e := &Expr{text: text}
	second := "0"
	if len(words) == 6 {
		second, words = words[0], words[1:]
	}
	if err := secondField.parse(second, &e.clock.seconds); err != nil {
		return nil, err
	}
	for i, read := range []func(word string) error{
		func(word string) error { return minuteField.parse(word, &e.clock.minutes) },
		func(word string) error { return hourField.parse(word, &e.clock.hours) },
		e.days.parseDates,
		func(word string) error { return monthField.parse(word, &e.days.months) },
		e.days.parseWeek,
	} {
		if err := read(words[i]); err != nil {
			return nil, err
		}
	}
	e.fixed = words[0][0] != '*' && words[1][0] != '*'
	e.days.both = words[2][0] == '*' || words[2][0] == '?' || words[4][0] == '*' || words[4][0] == '?'
	if _, ok := e.days.next(date{firstYear, 1, 1}); !ok {
		return nil, e.refuseNever(words[2], words[3], words[4])
	}
	return e, nil
}

func (e *Expr) refuseNever(dates, months, week string) error {
	if e.days.both && e.days.week != wholeWeek {
		return refuse("day-of-month", dates, "in the months %q this day is never a day-of-week %q, so the schedule would never fire", months, week)
	}
	return refuse("day-of-month", dates, "none of the months %q has such a day, so the schedule would never fire; L is the last day of a month", months)
}

// String returns the expression as it was written, with one space between
// fields, so Parse accepts the result.
func (e *Expr) String() string { return e.text }

// Every returns the interval of an @every expression, which has no Rule,
// because its user chooses the start.
func (e *Expr) Every() (time.Duration, bool) { return e.every, e.every != 0 }

// Fixed reports whether minute and hour are given without '*', so each time
// that e names comes once a day, and Gap and Overlap decide about days when
// clocks change.
func (e *Expr) Fixed() bool { return e.fixed }
