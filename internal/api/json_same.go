package api

import "bytes"

// sameJSON reports whether b is JSON and has the tokens of a, which is. Numbers are the same
// if they are written the same way. It keeps no tokens, and lets other goroutines run, as
// reading does: a batch has megabytes of bodies.
func sameJSON(a, b []byte) bool {
	x, y := &reader{data: a, until: len(a)}, &reader{data: b, until: len(b)}
	if err := y.skip(); err != nil || y.next() != 0 || y.pos < len(b) {
		return false
	}
	// Outside strings, valid JSON without its white space has one reading.
	for *y = (reader{data: b, until: len(b)}); ; {
		c := x.next()
		if y.next() != c {
			return false
		}
		switch {
		case x.pos == len(a) || y.pos == len(b):
			return x.pos == len(a) && y.pos == len(b)
		case c == '"':
			if !sameText(x, y) {
				return false
			}
		default:
			x.pos++
			y.pos++
		}
		x.rest()
		y.rest()
	}
}

// sameText passes a string in each of x and y, and reports whether they are the same,
// however they are escaped.
func sameText(x, y *reader) bool {
	a, inA, errA := x.span()
	b, inB, errB := y.span()
	if errA != nil || errB != nil || !inA && !inB {
		return errA == nil && errB == nil && bytes.Equal(a, b)
	}
	if bytes.Equal(a, b) {
		return true
	}
	a, errA = unescape(a)
	b, errB = unescape(b)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
