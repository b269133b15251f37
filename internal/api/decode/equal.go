package decode

import "bytes"

// Equal reports whether b is JSON with the same tokens as a, which must be
// JSON. Numbers are equal only if they are written the same way. Equal stores no
// tokens, because a batch can have megabytes of bodies.
func Equal(a, b []byte) bool {
	x, y := &Reader{data: a, until: len(a)}, &Reader{data: b, until: len(b)}
	if err := y.skip(); err != nil || y.Next() != 0 || y.pos < len(b) {
		return false
	}
	// Outside strings, two valid documents have the same tokens if they have the
	// same bytes except white space.
	for *y = (Reader{data: b, until: len(b)}); ; {
		c := x.Next()
		if y.Next() != c {
			return false
		}
		switch {
		case x.pos == len(a) || y.pos == len(b):
			return x.pos == len(a) && y.pos == len(b)
		case c == '"':
			if !equalText(x, y) {
				return false
			}
		default:
			x.pos++
			y.pos++
		}
	}
}

// equalText skips a string in x and in y, and reports whether they have the
// same value, after unescaping.
func equalText(x, y *Reader) bool {
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
