package cron

import "slices"

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
func (g Gap) String() string { return gapNames[min(int(g), len(gapNames)-1)] }

// ParseGap is the inverse of String.
func ParseGap(word string) (Gap, bool) {
	i := slices.Index(gapNames[:], word)
	return Gap(max(i, 0)), i >= 0
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
func (o Overlap) String() string { return overlapNames[min(int(o), len(overlapNames)-1)] }

// ParseOverlap is the inverse of String.
func ParseOverlap(word string) (Overlap, bool) {
	i := slices.Index(overlapNames[:], word)
	return Overlap(max(i, 0)), i >= 0
}

// first returns the first civil time of a period: the time on its clocks when
// it begins. For a fixed expression it excludes times shown before, and
// includes the times in the gap. The period has a start, because the caller's
// instant is close to it.
func (r Rule) first(period offsetPeriod) Civil {
	begin := period.civil(period.start)
	if !r.Expr.fixed {
		return begin
	}
	switch shown := period.shownBefore(r.zone()); {
	case shown < begin && r.Gap == GapNext:
		return shown
	case shown > begin && r.Overlap == OverlapFirst:
		return shown
	}
	return begin
}

// civil returns the civil time of the occurrence at an instant.
func (r Rule) civil(at int64) Civil {
	period := offsetPeriodAt(r.zone(), at)
	c := period.civil(at)
	if at != period.start || !r.Expr.fixed {
		return c
	}
	if last, ok := r.Expr.prev(c); ok && last >= r.first(period) {
		return last
	}
	return c
}

// reached returns the first instant whose clock shows c or something later.
func (r Rule) reached(c Civil) int64 {
	c = min(max(c, 0), Civil(horizon)) // a caller may pass any stored value
	for at := int64(c) - settled; ; {
		period := offsetPeriodAt(r.zone(), at)
		if c < period.civil(period.end) {
			return period.instant(c)
		}
		at = period.end
	}
}

// repeats reports whether a clock showed the same time before.
func (r Rule) repeats(at int64) bool {
	period := offsetPeriodAt(r.zone(), at)
	return at-period.start < settled && period.civil(at) < period.shownBefore(r.zone())
}
