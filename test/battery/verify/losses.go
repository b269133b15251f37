package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// FailoverRun is one run: when it began, when its master was struck, and how
// long no create was answered after that.
type FailoverRun struct {
	Began, At time.Time
	silence   time.Duration
	lost      int
}

// Losses are the losses of a level in some runs.
type Losses struct {
	Level, fault string
	runs         []FailoverRun
	hurt, worst  int // the runs with losses, and the largest loss
	Verdict
}

func (l Losses) String() string { return l.Level + ", " + l.fault }

// Row returns a line of the table.
func (l Losses) Row() string {
	silences := make([]time.Duration, len(l.runs))
	for i, r := range l.runs {
		silences[i] = r.silence.Round(10 * time.Millisecond)
	}
	slices.Sort(silences)
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %d | %v, %v |", l.Level, l.fault, len(l.runs), l.Accepted, len(l.Lost), l.hurt, l.worst,
		len(l.AfterCancel), l.Duplicates, Percentile(silences, 50), Percentile(silences, 100))
}

// JudgeLosses assigns each lost task to a run: the latest run that had begun when the
// task was promised.
func JudgeLosses(level, fault string, runs []FailoverRun, e Evidence) Losses {
	l := Losses{Level: level, fault: fault, runs: runs, Verdict: Check(e)}
	runOf := func(at time.Time) int {
		i, found := slices.BinarySearchFunc(runs, at, func(r FailoverRun, at time.Time) int { return r.Began.Compare(at) })
		if !found {
			i--
		}
		return max(i, 0)
	}
	slices.SortFunc(e.Accepted, func(a, b Accepted) int { return a.At.Compare(b.At) })
	var before time.Time
	for _, a := range e.Accepted {
		i := runOf(a.At)
		if _, gone := slices.BinarySearchFunc(l.Lost, a.Name, strings.Compare); gone {
			runs[i].lost++
		}
		if a.At.After(runs[i].At) {
			from := before
			if from.Before(runs[i].At) {
				from = runs[i].At
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
