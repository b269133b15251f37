package codec

import "github.com/foliot/foliot/internal/task"

// The value of each hexadecimal digit in lower case, and notHex for other
// bytes.
const notHex = 0xff

var hexValues = func() (values [256]byte) {
	for i := range values {
		values[i] = notHex
	}
	for i, digit := range []byte("0123456789abcdef") {
		values[digit] = byte(i)
	}
	return values
}()

// groups has the position of each byte of a UUID in its text.
var groups = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// parseUUID returns the bytes of s, and false unless task.PutUUID writes s for
// them.
func parseUUID[T string | []byte](s T) (id [16]byte, ok bool) {
	if len(s) != task.UUIDText || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	for i, at := range groups {
		high, low := hexValues[s[at]], hexValues[s[at+1]]
		if high|low == notHex {
			return [16]byte{}, false
		}
		id[i] = high<<4 | low
	}
	return id, true
}

// timeOf returns the first 48 bits of id: the time of a UUID of version 7.
func timeOf(id [16]byte) task.Millis {
	n := task.Millis(0)
	for _, b := range id[:6] {
		n = n<<8 | task.Millis(b)
	}
	return n
}
