package idle

import (
	"syscall"
	"time"
)

// jiffy is the accuracy of the kernel's ages: they may be too high by this
// much.
const jiffy = 10 * time.Millisecond

// askKernelLocked raises the times of a snapshot to those of the kernel, and
// reports whether anything was ever received. If the kernel gives no answer,
// touches alone count: so it is after the owner has closed the connection.
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

// forwarder is a wrapped connection from which bytes may go to another socket
// without passing through the program.
type forwarder interface {
	forwardsTo() syscall.RawConn // nil: they do not
}

// askSinkLocked counts writes of the other socket as reads here, because those
// bytes came from this connection. If the other socket's peer is slow, this
// connection may receive nothing for longer than a timeout and yet be in use.
func (g *Group[C]) askSinkLocked(s *snapshot, from forwarder) {
	sink := from.forwardsTo()
	if sink == nil {
		return
	}
	if _, write, ok := g.probe.ages(sink); ok {
		s.read = max(s.read, g.stepAt(time.Since(g.start)-write))
	}
}

// toleranceLocked returns the number of steps by which two readings of the same
// use may differ: with the kernel, its accuracy and its milliseconds.
func (g *Group[C]) toleranceLocked(i uint32) int32 {
	if g.slots.raw(i) == nil {
		return 0
	}
	return int32((jiffy+time.Millisecond)/g.grid.step) + 1
}

// stepAt returns the step of an event at that time, according to the kernel.
// The rule for idleness allows for touches up to a resolution after their step,
// and so for a jiffy, unless a jiffy is longer.
func (g *Group[C]) stepAt(then time.Duration) uint64 {
	if 2*g.grid.step < jiffy {
		then += jiffy
	}
	return min(uint64(max(then, 0)/g.grid.step), g.grid.now)
}
