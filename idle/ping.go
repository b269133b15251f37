package idle

import "math"

// The states of a ping. A connection is quiet, or waiting for the pong (pinging
// in its note). Entry.pinged is the step of the last ping, and missed is the
// number of unanswered pings before it:
//
//	quiet    PingEvery without TouchRead or Pong   on(Ping): Keep               waiting
//	waiting  TouchRead or Pong                                                  quiet, missed = 0
//	waiting  PongWait is over, missed+1 < max      on(Ping): Keep               waiting, missed+1
//	waiting  PongWait is over, missed+1 = max      on(PongTimeout): Keep        quiet, missed = 0
//	                                               on(PongTimeout): KeepFor     waiting
//
// A wait that is not PongWait from the ping is held under PongTimeout: KeepFor
// chose another, or the callback was slow.

func (p *policy) pingDue(s *snapshot, g *grid) uint64 {
	switch {
	case p.ping == 0:
		return never
	case !s.waiting:
		last := max(s.read, s.pong, s.pinged, g.floor)
		return last + p.ping - share(p.pingSpread, s.seed^last)
	case s.missed+1 < p.maxMissed:
		return p.pongDue(s, g)
	}
	return never
}

func (p *policy) pongTimeoutDue(s *snapshot, g *grid) uint64 {
	if s.waiting && s.missed+1 >= p.maxMissed {
		return p.pongDue(s, g)
	}
	return never
}

// pongDue returns the step in which the last ping is missed; a held wait
// replaces the policy's, and may be shorter.
func (p *policy) pongDue(s *snapshot, g *grid) uint64 {
	held := s.step(PongTimeout, g)
	if held > 0 && g.floor <= s.pinged {
		return held
	}
	return max(max(s.pinged, g.floor)+p.pong, held)
}

// checkStepLocked returns the step in which to check a connection for which a
// reason is due in step due. Touches only delay that, except a pong: after one,
// the next ping may be due before this one would be missed. Regular checks also
// keep all steps of a connection within 32 bits of the current step.
func (g *Group[C]) checkStepLocked(i uint32, due uint64) uint64 {
	if g.slots.note(i).is(pinging) {
		due = min(due, g.grid.now+g.policy.ping-g.policy.pingSpread)
	}
	return min(due, g.grid.now+longestSteps)
}

// pingedLocked records a ping for which the callback was called in step begun
// and returned v. The answer may come before the callback returns, so every
// sign of life since begun counts as an answer, also to the ping before, but
// the peer has a full PongWait from now.
func (g *Group[C]) pingedLocked(i uint32, v Verdict, begun uint64) {
	n := g.slots.note(i)
	if n.is(pinging) && n.missed < math.MaxUint8 {
		n.missed++
	}
	n.set(pinging)
	g.slots.slot(i).entry.pinged = uint32(begun)
	wait, chosen := g.chosenLocked(v)
	switch {
	case chosen:
		g.slots.hold(i, PongTimeout, g.grid.now+wait)
	case g.grid.now == begun:
		g.slots.release(i, PongTimeout)
	default:
		g.slots.hold(i, PongTimeout, g.grid.now+g.policy.pong)
	}
}

// resetPingsLocked starts again after a PongTimeout that was kept.
func (g *Group[C]) resetPingsLocked(i uint32) {
	g.slots.note(i).answered()
	g.slots.slot(i).entry.pinged = uint32(g.grid.now)
}

// answered ends the wait for a pong.
func (n *note) answered() {
	n.clear(pinging)
	n.missed = 0
}
