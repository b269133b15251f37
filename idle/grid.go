package idle

import "time"

// grid counts the steps of a group, two for each resolution. Its owner guards
// it, and passes the time to it.
type grid struct {
	step time.Duration // immutable: half a resolution

	now   uint64 // the current step: the last one that is due
	floor uint64 // the step of the last stall, before which no peer could speak
}

// advance takes the step for elapsed, the time since step 0, which never falls.
// It reports whether that step is too late: a stall, which raises the floor.
func (g *grid) advance(elapsed time.Duration) (stalled bool) {
	step := uint64(elapsed / g.step)
	if step <= g.now {
		return false
	}
	if elapsed > g.place(g.now+3) { // a resolution after the next step was due
		g.floor = step
		stalled = true
	}
	g.now = step
	return stalled
}

// place returns when a step is due, counted from step 0.
func (g *grid) place(step uint64) time.Duration { return time.Duration(step) * g.step }

// steps returns the number of steps after the last touch at which a timeout has
// passed.
func (g *grid) steps(timeout time.Duration) uint64 {
	return uint64((timeout-1)/g.step) + 1 + 3
}

// Entries keep the low 32 bits of steps, which are never more than farSteps
// before or after the current one.
const farSteps = 1 << 30

// past returns the full number of a step in the past: the latest one with these
// low bits that is not after now. A step that seems to be in the future was
// written by a touch for another group, and counts as now: closing late is
// better than closing a connection in use.
func (g *grid) past(step uint32) uint64 {
	ago := int32(uint32(g.now) - step)
	return g.now - min(uint64(max(ago, 0)), g.now)
}

// ahead returns the full number of a step that was set in the future and may
// have passed.
func (g *grid) ahead(step uint32) uint64 {
	return uint64(max(int64(g.now)+int64(int32(step-uint32(g.now))), 0))
}
