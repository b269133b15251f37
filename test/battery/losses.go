package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stricken is one run: from when on, when its master was struck, and how long no
// create was answered then.
type stricken struct {
	began, at time.Time
	silence   time.Duration
	lost      int
}

// losses is what a level lost in some runs.
type losses struct {
	level, fault string
	runs         []stricken
	hurt, worst  int // the runs that lost some, and what one lost at most
	verdict
}

func (l losses) String() string { return l.level + ", " + l.fault }

// row returns a line of the table.
func (l losses) row() string {
	silences := make([]time.Duration, len(l.runs))
	for i, r := range l.runs {
		silences[i] = r.silence.Round(10 * time.Millisecond)
	}
	slices.Sort(silences)
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %d | %v, %v |", l.level, l.fault, len(l.runs), l.Accepted, len(l.Lost), l.hurt, l.worst,
		len(l.AfterCancel), l.Duplicates, percentile(silences, 50), percentile(silences, 100))
}

// split divides the evidence by tasks: those of which something was heard before
// an instant, and others. The faults are those of both.
func (e evidence) split(at time.Time) (before, after evidence) {
	early := map[string]bool{}
	for _, a := range e.Accepted {
		early[a.Name] = a.At.Before(at)
	}
	for _, c := range e.Cancelled {
		early[c.Name] = early[c.Name] || c.At.Before(at)
	}
	for _, a := range e.Arrived {
		early[a.Name] = early[a.Name] || a.At.Before(at)
	}
	before.Accepted, after.Accepted = apart(e.Accepted, func(a accepted) bool { return early[a.Name] })
	before.Cancelled, after.Cancelled = apart(e.Cancelled, func(c cancelled) bool { return early[c.Name] })
	before.Arrived, after.Arrived = apart(e.Arrived, func(a arrived) bool { return early[a.Name] })
	before.Faults, after.Faults = e.Faults, e.Faults
	return before, after
}

// apart divides a list.
func apart[T any](list []T, first func(T) bool) (is, isNot []T) {
	for _, x := range list {
		if first(x) {
			is = append(is, x)
		} else {
			isNot = append(isNot, x)
		}
	}
	return is, isNot
}

// judgeLosses says what was lost in which run: that which had begun last when the
// task was promised.
func judgeLosses(level, fault string, runs []stricken, e evidence) losses {
	l := losses{level: level, fault: fault, runs: runs, verdict: check(e)}
	runOf := func(at time.Time) int {
		i, found := slices.BinarySearchFunc(runs, at, func(r stricken, at time.Time) int { return r.began.Compare(at) })
		if !found {
			i--
		}
		return max(i, 0)
	}
	slices.SortFunc(e.Accepted, func(a, b accepted) int { return a.At.Compare(b.At) })
	var before time.Time
	for _, a := range e.Accepted {
		i := runOf(a.At)
		if _, gone := slices.BinarySearchFunc(l.Lost, a.Name, strings.Compare); gone {
			runs[i].lost++
		}
		if a.At.After(runs[i].at) {
			from := before
			if from.Before(runs[i].at) {
				from = runs[i].at
			}
			l.runs[i].silence = max(l.runs[i].silence, a.At.Sub(from))
		}
		before = a.At
	}
	for _, r := range runs {
		l.worst = max(l.worst, r.lost)
		if r.lost > 0 {
			l.hurt++
		}
	}
	return l
}
