package idle

import "time"

// grid counts the steps of a group. It is told the time. Its owner guards it.
type grid struct {
	resolution time.Duration // immutable

	now   uint64 // the present step: the last whose place has come
	floor uint64 // the last step before which nobody could speak
}

// advance takes the step in whose place elapsed lies, and tells whether that was later than it may be: a stall, which raises
// the floor. elapsed is the time since step 0, and never falls.
func (g *grid) advance(elapsed time.Duration) (stalled bool) {
	step := uint64(elapsed / g.resolution)
	if step <= g.now {
		return false
	}
	if elapsed > g.place(g.now+2) { // a resolution after the place of the step that was next
		g.floor = step
		stalled = true
	}
	g.now = step
	return stalled
}

// place is when a step is due, since step 0.
func (g *grid) place(step uint64) time.Duration { return time.Duration(step) * g.resolution }

// steps returns how many steps after the last touch a timeout is over.
func (g *grid) steps(timeout time.Duration) uint64 {
	return uint64((timeout-1)/g.resolution) + 1 + 2
}

// idleAt returns the step at which what was touched last in the given one is idle. Steps are counted in 32 bits in an entry;
// touched is completed to the latest such step that is not after now.
func (g *grid) idleAt(touched uint32, timeout time.Duration) uint64 {
	return max(g.complete(touched), g.floor) + g.steps(timeout)
}

func (g *grid) complete(touched uint32) uint64 { return g.now - uint64(uint32(g.now)-touched) }
