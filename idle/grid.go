package idle

import "time"

// grid counts the steps of a group, two for each resolution. It is told the time. Its owner guards it.
type grid struct {
	step time.Duration // immutable: half a resolution

	now   uint64 // the present step: the last whose place has come
	floor uint64 // the last step before which nobody could speak
}

// advance takes the step in whose place elapsed lies, and tells whether that was later than it may be: a stall, which raises
// the floor. elapsed is the time since step 0, and never falls.
func (g *grid) advance(elapsed time.Duration) (stalled bool) {
	step := uint64(elapsed / g.step)
	if step <= g.now {
		return false
	}
	if elapsed > g.place(g.now+3) { // a resolution after the place of the step that was next
		g.floor = step
		stalled = true
	}
	g.now = step
	return stalled
}

// place is when a step is due, since step 0.
func (g *grid) place(step uint64) time.Duration { return time.Duration(step) * g.step }

// steps returns how many steps after the last touch a timeout is over.
func (g *grid) steps(timeout time.Duration) uint64 {
	return uint64((timeout-1)/g.step) + 1 + 3
}

// Steps are counted in 32 bits in an entry, where nothing is ever more than farSteps old or ahead.
const farSteps = 1 << 30

// past completes the step of something that has happened: the latest such step that is not after now. What seems to be ahead
// was written by a touch for another group, and counts as now: better late than a live connection closed.
func (g *grid) past(step uint32) uint64 {
	ago := int32(uint32(g.now) - step)
	return g.now - min(uint64(max(ago, 0)), g.now)
}

// ahead completes a step that was set in the future, and may have come.
func (g *grid) ahead(step uint32) uint64 {
	return uint64(max(int64(g.now)+int64(int32(step-uint32(g.now))), 0))
}
