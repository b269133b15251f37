package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// sample is a random expression: its text, and its meaning, written
// independently.
type sample struct {
	text  string
	fixed bool
	match func(clock time.Time) bool // reports whether the expression names this civil time
}

// item is a piece of a field: its text, and the numbers that it names.
type item struct {
	text string
	has  func(v int) bool
}

// randomItem makes a value, a range or a step within a field.
func randomItem(rnd *rand.Rand, lo, hi int, names []string) item {
	write := func(v int) string {
		if names != nil && v-lo < len(names) && rnd.IntN(2) == 0 {
			return names[v-lo]
		}
		return fmt.Sprint(v)
	}
	a := lo + rnd.IntN(hi-lo+1)
	b := a + rnd.IntN(hi-a+1)
	step := 1 + rnd.IntN(max(1, (hi-lo)/2))
	switch rnd.IntN(5) {
	case 0:
		return item{write(a) + "-" + write(b), func(v int) bool { return a <= v && v <= b }}
	case 1:
		return item{fmt.Sprintf("%s-%s/%d", write(a), write(b), step), func(v int) bool { return a <= v && v <= b && (v-a)%step == 0 }}
	case 2:
		return item{fmt.Sprintf("%d/%d", a, step), func(v int) bool { return a <= v && (v-a)%step == 0 }}
	default:
		return item{write(a), func(v int) bool { return v == a }}
	}
}

// randomField makes a star, a star with a step, or a list.
func randomField(rnd *rand.Rand, lo, hi int, names []string, stars int) item {
	if rnd.IntN(100) < stars {
		if rnd.IntN(3) > 0 {
			return item{"*", func(int) bool { return true }}
		}
		step := 1 + rnd.IntN(hi-lo+1)
		return item{fmt.Sprintf("*/%d", step), func(v int) bool { return (v-lo)%step == 0 }}
	}
	return join(rnd, func() item { return randomItem(rnd, lo, hi, names) })
}

func join(rnd *rand.Rand, piece func() item) item {
	list := []item{piece()}
	for rnd.IntN(3) == 0 {
		list = append(list, piece())
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, one.text)
	}
	return item{strings.Join(texts, ","), func(v int) bool {
		return slices.ContainsFunc(list, func(one item) bool { return one.has(v) })
	}}
}

// dayRule is a piece of a field of days that depends on the month.
type dayRule struct {
	text string
	has  func(day time.Time) bool
}

var weekNames = []string{"SUN", "mon", "Tue", "WED", "THU", "FRI", "SAT"}

func randomDates(rnd *rand.Rand) dayRule {
	lastDay := func(day time.Time) int { return time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }
	switch rnd.IntN(12) {
	case 0:
		return dayRule{"L", func(day time.Time) bool { return day.Day() == lastDay(day) }}
	case 1:
		n := 1 + rnd.IntN(27)
		return dayRule{fmt.Sprintf("L-%d", n), func(day time.Time) bool { return day.Day() == lastDay(day)-n }}
	case 2:
		return dayRule{"?", func(time.Time) bool { return true }}
	}
	f := randomField(rnd, 1, 31, nil, 50)
	return dayRule{f.text, func(day time.Time) bool { return f.has(day.Day()) }}
}

func randomWeek(rnd *rand.Rand) dayRule {
	w := rnd.IntN(7)
	name := weekNames[w]
	if rnd.IntN(2) == 0 {
		name = fmt.Sprint(w)
	}
	switch rnd.IntN(14) {
	case 0:
		return dayRule{name + "L", func(day time.Time) bool {
			return int(day.Weekday()) == w && day.AddDate(0, 0, 7).Month() != day.Month()
		}}
	case 1:
		n := 1 + rnd.IntN(5)
		return dayRule{fmt.Sprintf("%s#%d", name, n), func(day time.Time) bool {
			return int(day.Weekday()) == w && (day.Day()+6)/7 == n
		}}
	case 2:
		to := rnd.IntN(7)
		return dayRule{weekNames[w] + "-" + weekNames[to], func(day time.Time) bool {
			for d := w; ; d = (d + 1) % 7 {
				if d == int(day.Weekday()) {
					return true
				}
				if d == to {
					return false
				}
			}
		}}
	case 3:
		return dayRule{"7", func(day time.Time) bool { return day.Weekday() == time.Sunday }}
	}
	f := randomField(rnd, 0, 6, weekNames, 60)
	return dayRule{f.text, func(day time.Time) bool { return f.has(int(day.Weekday())) }}
}

// randomSample makes an expression. If seconds is set, one in eight has
// seconds.
func randomSample(rnd *rand.Rand, seconds bool) sample {
	second := item{"0", func(v int) bool { return v == 0 }}
	if seconds {
		second = randomField(rnd, 0, 59, nil, 30)
	}
	minute, hour := randomField(rnd, 0, 59, nil, 30), randomField(rnd, 0, 23, nil, 30)
	dates, week := randomDates(rnd), randomWeek(rnd)
	month := randomField(rnd, 1, 12, []string{"JAN", "feb", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, 80)
	text := strings.Join([]string{minute.text, hour.text, dates.text, month.text, week.text}, " ")
	if seconds {
		text = second.text + " " + text
	}
	star := func(text string) bool { return text[0] == '*' || text == "?" }
	and := star(dates.text) || star(week.text)
	return sample{text, !star(minute.text) && !star(hour.text), func(clock time.Time) bool {
		if !second.has(clock.Second()) || !minute.has(clock.Minute()) || !hour.has(clock.Hour()) || !month.has(int(clock.Month())) {
			return false
		}
		if and {
			return dates.has(clock) && week.has(clock)
		}
		return dates.has(clock) || week.has(clock)
	}}
}
