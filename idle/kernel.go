package idle

import (
	"syscall"
	"time"
)

// jiffy is the kernel's grain: an age it tells may be that much too high.
const jiffy = 10 * time.Millisecond

// askKernelLocked raises what is known of a connection to what the kernel knows, and tells whether anything was ever received. Where it
// refuses, touches alone count; it does so when the connection has been closed by its owner.
func (g *Group[C]) askKernelLocked(s *snapshot, raw syscall.RawConn) (received bool) {
	if g.probe == nil {
		g.probe = newProbe()
	}
	read, write, ok := g.probe.ages(raw)
	if !ok {
		return false
	}
	now := time.Since(g.start)
	s.read = max(s.read, g.stepAt(now-read))
	s.write = max(s.write, g.stepAt(now-write))
	return g.probe.received()
}

// forwarder is a connection of ours whose bytes may be on their way to another socket without passing the program.
type forwarder interface {
	forwardsTo() syscall.RawConn // nil: they are not
}

// askSinkLocked lets what the other socket sends count as read: it came from here. Where its peer is slow, nothing may come in here for
// longer than a timeout, since what has come is not taken, and yet the connection is in use.
func (g *Group[C]) askSinkLocked(s *snapshot, from forwarder) {
	sink := from.forwardsTo()
	if sink == nil {
		return
	}
	if _, write, ok := g.probe.ages(sink); ok {
		s.read = max(s.read, g.stepAt(time.Since(g.start)-write))
	}
}

// toleranceLocked is by how many steps two looks may differ about the same use: where the kernel is asked, by its grain and its milliseconds.
func (g *Group[C]) toleranceLocked(i uint32) int32 {
	if g.slots.raw(i) == nil {
		return 0
	}
	return int32((jiffy+time.Millisecond)/g.grid.step) + 1
}

// stepAt returns the step of something that happened then, by the kernel's word. The judgement allows for touches that came up to a
// resolution after their step, so for a jiffy too, unless that is longer.
func (g *Group[C]) stepAt(then time.Duration) uint64 {
	if 2*g.grid.step < jiffy {
		then += jiffy
	}
	return min(uint64(max(then, 0)/g.grid.step), g.grid.now)
}
