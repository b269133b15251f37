package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stricken is one run: from when on, when its master was struck, how long no
// create was answered then, and whether a second master lost its place: one that
// lived, since on a busy machine a silence of half a second is none.
type stricken struct {
	began, at time.Time
	silence   time.Duration
	twice     bool
	lost      int
}

// losses is what a level lost in all its runs.
type losses struct {
	level, fault   string
	runs           []stricken
	hurt, worst    int // the runs that lost some, and what one lost at most
	twice, byTwice int // the runs in which a second master lost its place, and what those lost
	verdict
}

// String returns a line of the table.
func (l losses) String() string {
	silences := make([]time.Duration, len(l.runs))
	for i, r := range l.runs {
		silences[i] = r.silence.Round(10 * time.Millisecond)
	}
	slices.Sort(silences)
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %v, %v |", l.level, l.fault, len(l.runs), l.twice, l.Accepted, len(l.Lost), l.byTwice, l.hurt, l.worst,
		len(l.AfterCancel), l.Duplicates, percentile(silences, 50), percentile(silences, 100))
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
	for i, r := range runs {
		l.worst = max(l.worst, r.lost)
		if r.lost > 0 {
			l.hurt++
		}
		if r.twice {
			l.twice++
		}
		if r.twice || i+1 < len(runs) && runs[i+1].twice { // the doubt may have begun in the run before
			l.byTwice += r.lost
		}
	}
	return l
}
