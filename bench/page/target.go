package page

import (
	"fmt"
	"math"
	"strings"
)

// Target is a target and its measured value.
type Target struct {
	What, Wanted, Measured string
	Verdict                Verdict
}

// Verdict is the result for a target.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota
	Reached
	Missed
	None // the row is for information only
)

func (v Verdict) String() string {
	return [...]string{"not measured", "reached", "**not reached**", ""}[v]
}

// Judge returns Unknown if a value is missing.
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

// Most returns a target with an upper limit.
func Most(what string, value, limit float64, unit string) Target {
	wanted := fmt.Sprintf("≤ %g %s", limit, unit)
	if limit == 0 {
		wanted = "0"
	}
	return Target{what, wanted, strings.TrimSpace(Figure(value) + " " + unit), Judge(value <= limit, value)}
}

// Targets returns the table of targets.
func Targets(list []Target) string {
	return Table(list,
		Column[Target]{Head: "target", Cell: func(t Target) string { return t.What }},
		Column[Target]{Head: "wanted", Cell: func(t Target) string { return t.Wanted }, Text: true},
		Column[Target]{Head: "measured", Cell: func(t Target) string {
			if t.Verdict == Unknown {
				return Missing
			}
			return t.Measured
		}},
		Column[Target]{Cell: func(t Target) string { return t.Verdict.String() }},
	)
}
