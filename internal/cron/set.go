package cron

import "math/bits"

// set is a set of small numbers, 0 to 63: the values that one field allows.
type set uint64

// span returns {from, from+step, … to}.
func span(from, to, step int) set {
	var s set
	for v := from; v <= to; v += step {
		s |= 1 << v
	}
	return s
}

func (s set) has(v int) bool { return s>>v&1 != 0 }
func (s set) len() int       { return bits.OnesCount64(uint64(s)) }
func (s set) first() int     { return bits.TrailingZeros64(uint64(s)) }
func (s set) last() int      { return 63 - bits.LeadingZeros64(uint64(s)) }

// from returns the members that are at least v, and to the members that are at
// most v, for v between -1 and 63.
func (s set) from(v int) set { return s >> v << v }
func (s set) to(v int) set   { return s & (1<<(v+1) - 1) }

// each calls f with every member in ascending order.
func (s set) each(f func(v int)) {
	for ; s != 0; s &= s - 1 {
		f(s.first())
	}
}
