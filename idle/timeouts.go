package idle

import (
	"math/bits"
	"time"
)

// policy is a Config in steps of a grid, under a pressure, with 0 for off.
type policy struct {
	read, write, all, handshake, age uint64
	ageSpread                        uint64 // the age may be shorter by up to this many steps
	ageAgain                         uint64

	ping, pingSpread, pong uint64
	maxMissed              uint8
}

// policy returns the limits in steps at a pressure p of 0 to 1, which leaves 1
// - p of each timeout. Pressure does not make pings more frequent: that would
// increase the load.
func (l *limits) policy(g *grid, pressure float64) policy {
	left := func(d time.Duration) time.Duration { return max(d-part(d, pressure), 1) }
	steps := func(d time.Duration) uint64 {
		if d == 0 {
			return 0
		}
		return g.steps(d)
	}
	pressed := func(d time.Duration) uint64 {
		if d == 0 {
			return 0
		}
		return g.steps(left(d))
	}
	spread := func(d time.Duration) uint64 { return uint64(part(d, l.jitter) / g.step) }
	return policy{
		read: pressed(l.read), write: pressed(l.write), all: pressed(l.all), handshake: pressed(l.handshake),
		age: pressed(l.age), ageSpread: spread(left(l.age)), ageAgain: pressed(max(l.age/10, 1)),
		ping: steps(l.ping), pingSpread: spread(l.ping), pong: steps(l.pong),
		maxMissed: l.maxMissed,
	}
}

// part returns d × p, for a d from zero and a p of 0 to 1, and never falls if d
// rises. A float64 has too few bits for a long d, and the longest would
// overflow.
func part(d time.Duration, p float64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(p*(1<<32)))
	return time.Duration(hi<<32 | lo>>32)
}

// next returns the reason that is due first, and its step, which is never
// without any timeout. If that step is not after the current one, it is due
// now.
func (p *policy) next(s *snapshot, g *grid) (first Reason, step uint64) {
	step = never
	for r := ReadIdle; r <= PongTimeout; r++ {
		if due := p.due(r, s, g); due < step {
			first, step = r, due
		}
	}
	return first, step
}

// due returns the step in which a reason is due.
//
// Invariant: this step is at least the timeout after the last touch, the last
// stall and the last verdict that kept the connection.
func (p *policy) due(r Reason, s *snapshot, g *grid) uint64 {
	from, timeout := uint64(0), uint64(0)
	switch r {
	case ReadIdle:
		from, timeout = s.read, p.read
	case WriteIdle:
		from, timeout = s.write, p.write
	case AllIdle:
		from, timeout = max(s.read, s.write), p.all
	case Age:
		return p.ageDue(s, g)
	case Handshake:
		if s.awaitingRead {
			from, timeout = s.born, p.handshake
		}
	case Ping:
		return p.pingDue(s, g)
	case PongTimeout:
		return p.pongTimeoutDue(s, g)
	}
	if timeout == 0 {
		return never
	}
	kept, until := s.verdict(r, g)
	return max(max(from, g.floor, kept)+timeout, until)
}

// ageDue ignores stalls: a stalled process does not make a connection younger.
func (p *policy) ageDue(s *snapshot, g *grid) uint64 {
	if p.age == 0 || s.ignoreAge {
		return never
	}
	kept, until := s.verdict(Age, g)
	if kept > 0 {
		until = kept + p.ageAgain
	}
	return max(s.born+p.age-share(p.ageSpread, s.seed^s.born), until)
}

const never = 1<<48 - 1

// share returns a number from 0 to spread that depends only on seed.
func share(spread, seed uint64) uint64 {
	if spread == 0 {
		return 0
	}
	seed *= 0x9e3779b97f4a7c15 // Steele, Lea and Flood's SplitMix64 finisher
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	seed = (seed ^ seed>>27) * 0x94d049bb133111eb
	return (seed ^ seed>>31) % (spread + 1)
}
