package cron

import "fmt"

// Gap is the policy for times of a fixed expression that a day does not have,
// because its clocks were put forward over them.
type Gap uint8

// The policies for a gap, as numbers that may be stored.
const (
	GapNext Gap = iota // they run together, once, when the gap ends
	GapSkip            // they do not run
)

var gapNames = [...]string{GapNext: "next", GapSkip: "skip"}

// String returns the policy's word.
func (g Gap) String() string {
	if int(g) >= len(gapNames) {
		return fmt.Sprintf("Gap(%d)", uint8(g))
	}
	return gapNames[g]
}

// ParseGap is the inverse of String.
func ParseGap(word string) (Gap, bool) {
	for g, name := range gapNames {
		if name == word {
			return Gap(g), true
		}
	}
	return 0, false
}

// Overlap is the policy for times of a fixed expression that a day has twice,
// because its clocks were put back over them.
type Overlap uint8

// The policies for an overlap, as numbers that may be stored.
const (
	OverlapFirst Overlap = iota // they run when the clock shows them first
	OverlapBoth                 // they run each time the clock shows them
)

var overlapNames = [...]string{OverlapFirst: "first", OverlapBoth: "both"}

// String returns the policy's word.
func (o Overlap) String() string {
	if int(o) >= len(overlapNames) {
		return fmt.Sprintf("Overlap(%d)", uint8(o))
	}
	return overlapNames[o]
}

// ParseOverlap is the inverse of String.
func ParseOverlap(word string) (Overlap, bool) {
	for o, name := range overlapNames {
		if name == word {
			return Overlap(o), true
		}
	}
	return 0, false
}
