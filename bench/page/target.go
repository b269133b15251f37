package page

import (
	"fmt"
	"math"
)

// Target is what was to be reached, and what came out.
type Target struct {
	What, Wanted, Measured string
	Verdict                Verdict
}

// Verdict says whether a target was reached.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota
	Reached
	Missed
	None // nothing was to be reached
)

func (v Verdict) String() string {
	return [...]string{"not measured", "reached", "**not reached**", ""}[v]
}

// Judge is Unknown where a value is missing.
func Judge(ok bool, values ...float64) Verdict {
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return Unknown
		}
	}
	if ok {
		return Reached
	}
	return Missed
}

// Most is a target of at most so many of a unit.
func Most(what string, value, limit float64, unit string) Target {
	wanted := fmt.Sprintf("≤ %g %s", limit, unit)
	if limit == 0 {
		wanted = "0"
	}
	return Target{what, wanted, Figure(value) + " " + unit, Judge(value <= limit, value)}
}

// Targets is the table of what was to be reached.
func Targets(list []Target) *Table {
	t := &Table{Head: []string{"target", "wanted", "measured", ""}}
	for _, x := range list {
		measured := x.Measured
		if x.Verdict == Unknown {
			measured = Missing
		}
		t.Add(x.What, x.Wanted, measured, x.Verdict.String())
	}
	return t
}
