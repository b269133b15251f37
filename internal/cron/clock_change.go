package cron

import (
	"fmt"
	"time"
)

// ClockChange is a change of a zone's clocks that skips or repeats times of a
// fixed expression.
type ClockChange struct {
	At       time.Time // the first instant with the new clocks, in the zone
	Repeats  bool      // the clocks show the times twice; false: they skip them
	Times    []Civil   // the expression's times, the earliest first
	Complete bool      // Times has all of them
}

// mostChanged is the maximum number of times in a ClockChange.
const mostChanged = 10

// ClockChanges returns the changes of clocks from one instant until another
// that skip or repeat times of the rule, the earliest first. A rule whose
// expression is not fixed has none, because it follows the clocks.
func (r Rule) ClockChanges(from, until time.Time) (all []ClockChange) {
	if !r.Expr.Fixed() {
		return nil
	}
	last := min(until.Unix(), horizon-1)
	for at := max(from.Unix(), 0); ; {
		end := offsetPeriodAt(r.zone(), at).end
		if end > last {
			return all
		}
		at = end
		period := offsetPeriodAt(r.zone(), at)
		begin, shown := period.civil(at), period.shownBefore(r.zone())
		change := ClockChange{At: time.Unix(at, 0).In(r.zone()), Repeats: begin < shown}
		if change.Times, change.Complete = r.Expr.between(min(begin, shown), max(begin, shown)); len(change.Times) > 0 {
			all = append(all, change)
		}
	}
}

// between returns the times of e from one time until another, which is not
// included, and complete if there are at most mostChanged.
func (e *Expr) between(from, until Civil) (times []Civil, complete bool) {
	for c, ok := e.next(from); ok && c < until; c, ok = e.next(c + 1) {
		if len(times) == mostChanged {
			return times, false
		}
		times = append(times, c)
	}
	return times, true
}

// Words returns a sentence about the change: "28 March 2027: 02:30 does not
// exist; it runs at 03:00".
func (c ClockChange) Words(r Rule) string {
	day, _ := c.Times[0].split()
	d := dateOf(day)
	times := make([]string, len(c.Times))
	for i, t := range c.Times {
		times[i] = t.clock()
	}
	if !c.Complete {
		times = append(times, "others")
	}
	verb := func(one, many string) string {
		if len(times) == 1 {
			return one
		}
		return many
	}
	text := fmt.Sprintf("%d %s %d: %s ", d.day, time.Month(d.month), d.year, list(times))
	switch {
	case c.Repeats && r.Overlap == OverlapBoth:
		return text + verb("occurs", "occur") + " twice; " + verb("it runs", "they run") + " both times"
	case c.Repeats:
		return text + verb("occurs", "occur") + " twice; " + verb("it runs", "they run") + " only the first time"
	case r.Gap == GapSkip:
		return text + verb("does", "do") + " not exist, and " + verb("does", "do") + " not run"
	}
	end := "15:04"
	if c.At.Day() != d.day { // the change skips midnight, or a whole day
		end += " on 2 January"
	}
	return text + verb("does", "do") + " not exist; " + verb("it runs", "they run together, once,") + " at " + c.At.Format(end)
}

// clock returns the time of day: "09:00", "09:00:30".
func (c Civil) clock() string {
	_, s := c.split()
	text := fmt.Sprintf("%02d:%02d", s/hourSeconds, s%hourSeconds/minuteSeconds)
	if s %= minuteSeconds; s != 0 {
		text += fmt.Sprintf(":%02d", s)
	}
	return text
}
