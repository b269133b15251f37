package decode

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// span skips a string, and returns the bytes between the quotes, and whether
// they contain escapes.
func (r *Reader) span() (raw []byte, escaped bool, err error) {
	r.pos++
	start, wide := r.pos, false
	for until := r.pos + textStep; ; {
		if r.pos >= until {
			until = r.pos + textStep
			if err := r.longText(start); err != nil {
				return nil, false, err
			}
		}
		near := r.data[:min(len(r.data), until)]
		for r.pos < len(near) && plain[near[r.pos]] {
			r.pos++
		}
		if r.pos == len(r.data) {
			return nil, false, r.broken("a string has no end")
		}
		if r.pos == len(near) {
			continue
		}
		switch c := near[r.pos]; {
		case c == '"':
			raw = r.data[start:r.pos]
			r.pos++
			if wide && !r.lenient && !utf8.Valid(raw) {
				return nil, false, refuse("bad_utf8", "a string is not valid UTF-8")
			}
			return raw, escaped, nil
		case c == '\\':
			escaped = true
			if err := r.escape(); err != nil {
				return nil, false, err
			}
		case c < ' ':
			return nil, false, r.broken("a string contains a control character")
		default:
			wide = true
		}
		r.pos++
	}
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// textStep is the number of bytes of a string after which its limit is checked.
const textStep = 64 << 10

// longText returns an error if the string that begins at start exceeds its limit.
func (r *Reader) longText(start int) error {
	if r.until == 0 && !r.lenient && r.pos > start+maxText {
		return refuse("too_long", fmt.Sprintf("must have at most %d bytes of JSON", maxText))
	}
	return r.inBounds()
}

// escape skips an escape except for its last byte.
func (r *Reader) escape() error {
	r.pos++
	if r.pos == len(r.data) {
		return r.broken("a string has no end")
	}
	switch r.data[r.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		if hex4(r.data[r.pos+1:]) >= 0 {
			r.pos += 4
			return nil
		}
	}
	return r.broken("invalid escape")
}

// hex4 returns the value of the first four hexadecimal digits of s, or -1.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(s[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape resolves the escapes of a string that span has checked.
func unescape(raw []byte) ([]byte, error) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			out = append(out, escapes[raw[i]])
			continue
		}
		c := hex4(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(c) {
			low := rune(-1)
			if rest := raw[i+1:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				low = hex4(rest[2:])
			}
			if c = utf16.DecodeRune(c, low); c == utf8.RuneError {
				return nil, refuse("bad_utf8", `half of a surrogate pair (\ud800 to \udfff) is not a character`)
			}
			i += 6
		}
		out = utf8.AppendRune(out, c)
	}
	return out, nil
}
