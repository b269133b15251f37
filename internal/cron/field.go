package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// field holds the common properties of a field: numbers from min to max, some
// of them with names. '*' and a step without an end stop at top, because 7, the
// second number of Sunday, is no day of its own.
type field struct {
	name          string
	min, max, top int
	names         []string // of min, min+1 …
}

var (
	secondField = field{name: "second", max: 59, top: 59}
	minuteField = field{name: "minute", max: 59, top: 59}
	hourField   = field{name: "hour", max: 23, top: 23}
	dateField   = field{name: "day-of-month", min: 1, max: 31, top: 31}
	monthField  = field{name: "month", min: 1, max: 12, top: 12, names: []string{
		"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
	}}
	weekField = field{name: "day-of-week", max: 7, top: 6, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}}
)

const wholeWeek set = 1<<7 - 1

// allowed describes the values of the field.
func (f *field) allowed() string {
	text := fmt.Sprintf("%d-%d", f.min, f.max)
	if f.names != nil {
		text += fmt.Sprintf(" or %s-%s", f.names[0], f.names[len(f.names)-1])
	}
	return text
}

func (f *field) refuse(text, format string, args ...any) error {
	return refuse(f.name, text, format, args...)
}

// parse parses a list into s.
func (f *field) parse(text string, s *set) error {
	return f.items(text, func(item string) error {
		members, err := f.item(item)
		*s |= members
		return err
	})
}

// items calls read with each item of a list.
func (f *field) items(text string, read func(item string) error) error {
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			return f.refuse(text, "a value is missing next to a comma")
		}
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

// item parses '*', a value or a range, and the step after it.
func (f *field) item(item string) (set, error) {
	body, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		var ok bool
		if step, ok = number(stepText); !ok || step == 0 || step > f.top-f.min+1 {
			return 0, f.refuse(item, "a step must be between 1 and %d", f.top-f.min+1)
		}
	}
	if body == "*" {
		return span(f.min, f.top, step), nil
	}
	fromText, toText, ranged := strings.Cut(body, "-")
	from, fromNamed, err := f.value(item, fromText)
	if err != nil {
		return 0, err
	}
	switch {
	case !ranged && !stepped:
		return 1 << from, nil
	case !ranged && from > f.top:
		return span(f.min, f.top, step), nil
	case !ranged:
		return span(from, f.top, step), nil
	}
	to, toNamed, err := f.value(item, toText)
	if err != nil {
		return 0, err
	}
	return f.span(item, from, to, step, fromNamed && toNamed)
}

// span returns the set of a range. A range of weekday names may cross the end
// of the week; its days are counted on from Saturday.
func (f *field) span(item string, from, to, step int, named bool) (set, error) {
	if from <= to {
		return span(from, to, step), nil
	}
	week := f.max == weekField.max
	if week && named {
		return span(from, to+7, step), nil
	}
	if week {
		return 0, f.refuse(item, "the range runs backwards: for a range over the end of the week, write names, such as FRI-MON")
	}
	return 0, f.refuse(item, "the range runs backwards: write two ranges, such as %s,%s", f.write(from, f.top, named), f.write(f.min, to, named))
}

// write returns the text that item parses as the range from from to to.
func (f *field) write(from, to int, named bool) string {
	first, last := strconv.Itoa(from), strconv.Itoa(to)
	if named {
		first, last = f.names[from-f.min], f.names[to-f.min]
	}
	if from == to {
		return first
	}
	return first + "-" + last
}

// value parses a number or a name.
func (f *field) value(item, text string) (v int, named bool, err error) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.min + i, true, nil
		}
	}
	if v, ok := number(text); ok && v >= f.min && v <= f.max {
		return v, false, nil
	}
	return 0, false, f.refuse(item, "%q is not %s", text, f.allowed())
}

// number parses one to three digits and nothing else.
func number(text string) (int, bool) {
	if len(text) == 0 || len(text) > 3 {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	v, err := strconv.Atoi(text)
	return v, err == nil
}
