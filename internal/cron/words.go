package cron

import (
	"fmt"
	"strings"
	"time"
)

// Words says in a sentence when e runs: short for what is common, true for
// everything. It speaks of what the clocks show, not of days when they change.
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

// Words is the expression's, with what the rule has chosen for the days when clocks change,
// where that is not the usual.
func (r Rule) Words() string {
	words := r.Expr.Words()
	if !r.Expr.fixed {
		return words // what a gap or an overlap holds is no question
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
// divides it: what runs so does not stumble where size begins anew. 0: it isn't.
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
