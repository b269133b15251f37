package page

import (
	"fmt"
	"strings"
)

// Target is a target and its measured value.
type Target struct {
	What, Wanted, Measured string
	Reached                bool // false if it was not measured
}

// Most returns a target with an upper limit.
func Most(what string, value, limit float64, unit string) Target {
	wanted := fmt.Sprintf("≤ %g %s", limit, unit)
	if limit == 0 {
		wanted = "0"
	}
	return Target{what, wanted, strings.TrimSpace(Figure(value) + " " + unit), value <= limit}
}

// Missed says which targets were missed.
func Missed(all []Target) string {
	text := fmt.Sprintf("Of %s, these were missed:\n\n", Plural(len(all), "target"))
	missed := false
	for _, t := range all {
		if t.Reached {
			continue
		}
		missed = true
		measured := "measured " + t.Measured
		if strings.Contains(t.Measured, Missing) {
			measured = "not measured"
		}
		text += fmt.Sprintf("- %s: wanted %s, %s\n", t.What, t.Wanted, measured)
	}
	if !missed {
		return "Every target was reached.\n"
	}
	return text
}
