package cron

import (
	"fmt"
	"strings"
	"time"
)

// Words describes when e runs, in a sentence that is short for common
// expressions, and true for all. It is about the time on the clocks, not about
// the days when clocks change.
func (e *Expr) Words() string {
	if e.every != 0 {
		return "every " + durationWords(e.every)
	}
	clock, days := e.clock.words(), e.days.words()
	if days == "" && strings.HasPrefix(clock, "at ") && !strings.Contains(clock, " every ") {
		days = "every day"
	}
	return strings.Join(strings.Fields(clock+" "+days+" "+e.days.monthWords()), " ")
}

// Words returns the words of the expression, and the policies for days when
// clocks change if they are not the defaults.
func (r Rule) Words() string {
	words := r.Expr.Words()
	if !r.Expr.fixed {
		return words // gaps and overlaps do not affect this expression
	}
	if r.Gap == GapSkip {
		words += ", not when clocks skip it"
	}
	if r.Overlap == OverlapBoth {
		words += ", twice when clocks repeat it"
	}
	return words
}

// durationWords writes an interval in its units: "1 minute 30 seconds", "hour".
func durationWords(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}, {time.Millisecond, "millisecond"}} {
		if n := d / unit.of; n > 0 {
			parts = append(parts, plural(int(n), unit.name))
			d -= n * unit.of
		}
	}
	if len(parts) == 1 {
		return strings.TrimPrefix(parts[0], "1 ")
	}
	return strings.Join(parts, " ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list joins words as a sentence does: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// runs names the members of s, three or more in a row as "a to b".
func runs(s set, name func(v int) string) []string {
	var words []string
	for s != 0 {
		from := s.first()
		to := from
		for s.has(to+1) && to < 63 {
			to++
		}
		if to < from+2 {
			to = from
			words = append(words, name(from))
		} else {
			words = append(words, name(from)+" to "+name(to))
		}
		s = s.from(to + 1)
	}
	return words
}

// stride returns n if s is {0, n, 2n, …} through all of 0 to size-1, and n
// divides size: then the steps stay even when the field starts again. Otherwise
// it returns 0.
func (s set) stride(size int) int {
	if s.first() != 0 || s.len() == 0 || size%s.len() != 0 {
		return 0
	}
	n := size / s.len()
	if s != span(0, size-1, n) {
		return 0
	}
	return n
}
