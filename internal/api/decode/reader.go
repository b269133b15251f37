package decode

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// Reader parses one JSON document strictly and in one pass. It checks syntax,
// UTF-8, nesting and duplicate keys, including in values that are only stored,
// such as the body of a task. encoding/json accepts documents that another parser
// might read differently: it takes the last of two equal keys, and replaces
// invalid characters.
//
// Its errors are *task.FieldError, whose path begins at the reader's position.
// Results do not refer to the document, except those of Raw.
type Reader struct {
	data  []byte
	pos   int
	depth int
	keys  [][]byte // the keys of the open objects, the innermost last
	until int      // the position at which a stored value must have ended; zero means no bound

	// lenient is set to find the end of a value that was already refused. While it
	// is set, the only errors are those that make the end impossible to find.
	lenient bool
}

func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Pos returns the position of the reader in its document.
func (r *Reader) Pos() int { return r.pos }

// Escaped is the factor by which JSON can lengthen a text: \u0000 for one byte.
const Escaped = len(`\u0000`)

// lenientDepth bounds the recursion in lenient mode, which does not check
// nesting.
const lenientDepth = 1000

// Document reads data as one value with read, which no data may follow.
func Document(data []byte, read func(*Reader) error) error {
	r := &Reader{data: data, keys: make([][]byte, 0, fewKeys)}
	if r.space(); r.pos == len(data) {
		return refuse("empty_body", "the body is empty: send a JSON object")
	}
	if err := read(r); err != nil {
		return err
	}
	if r.space(); r.pos < len(data) {
		return refuse("trailing_data", fmt.Sprintf("unexpected data after the JSON value, at byte %d", r.pos))
	}
	return nil
}

// Object reads an object. It calls member at each value, which must read the
// value, and prepends the key to the path of an error.
func (r *Reader) Object(member func(key []byte) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	base := len(r.keys)
	var many map[string]bool // used for many keys
	for first := true; !r.closed('}'); first = false {
		if !first {
			if err := r.expect(','); err != nil {
				return err
			}
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		if err := r.inBounds(); err != nil {
			return Within(key, err)
		}
		if r.repeated(base, key, &many) {
			return Within(key, refuse("duplicate_key", "duplicate key"))
		}
		if err := r.expect(':'); err != nil {
			return Within(key, err)
		}
		if err := member(key); err != nil {
			return Within(key, err)
		}
	}
	r.keys = r.keys[:base]
	r.depth--
	return nil
}

// ErrOver stops the parsing of a value that is longer than its limit.
var ErrOver = errors.New("over the limit")

// maxText bounds a string outside a task's body, in bytes of JSON. It is far
// above every limit on such strings, so a longer one need not be unescaped.
const maxText = 1 << 20

func (r *Reader) inBounds() error {
	if r.until > 0 && r.pos > r.until {
		return ErrOver
	}
	return nil
}

// Array reads an array, and calls item at each value, which must read the
// value.
func (r *Reader) Array(item func(i int) error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	for i := 0; !r.closed(']'); i++ {
		if i > 0 {
			if err := r.expect(','); err != nil {
				return err
			}
		}
		if err := r.inBounds(); err != nil {
			return err
		}
		if err := item(i); err != nil {
			return Within([]byte("["+strconv.Itoa(i)+"]"), err)
		}
	}
	r.depth--
	return nil
}

func (r *Reader) open(bracket byte, expected string) error {
	if r.Next() != bracket {
		return r.Mismatch(expected)
	}
	r.pos++
	r.depth++
	if r.depth > task.MaxNesting && !r.lenient || r.depth > lenientDepth {
		return refuse("too_deep", fmt.Sprintf("JSON must be nested at most %d levels deep", task.MaxNesting))
	}
	return nil
}

// closed reports whether the object or array ends here, and skips the bracket if
// it does.
func (r *Reader) closed(bracket byte) bool {
	if r.Next() != bracket {
		return false
	}
	r.pos++
	return true
}

func (r *Reader) expect(c byte) error {
	if r.Next() != c {
		return r.broken("missing " + strconv.QuoteRune(rune(c)))
	}
	r.pos++
	// A value must follow a comma: [1,] and {"a":1,} are not JSON.
	if n := r.Next(); c == ',' && (n == ']' || n == '}') {
		return r.broken("missing value after the comma")
	}
	return nil
}

// fewKeys is the number of keys up to which an object is searched one by one.
const fewKeys = 16

// repeated reports whether key occurred since base, and records it.
func (r *Reader) repeated(base int, key []byte, many *map[string]bool) bool {
	if r.lenient {
		return false
	}
	open := r.keys[base:]
	if len(open) < fewKeys {
		for _, k := range open {
			if bytes.Equal(k, key) {
				return true
			}
		}
		r.keys = append(r.keys, key)
		return false
	}
	if *many == nil {
		*many = make(map[string]bool, 4*fewKeys)
		for _, k := range open {
			(*many)[string(k)] = true
		}
	}
	if (*many)[string(key)] {
		return true
	}
	(*many)[string(key)] = true
	return false
}

// key reads an object's key, which can refer to the document's memory.
func (r *Reader) key() ([]byte, error) {
	if r.Next() != '"' {
		return nil, r.broken("missing key in quotes")
	}
	raw, escaped, err := r.span()
	if err != nil || !escaped || r.lenient {
		return raw, err
	}
	return unescape(raw)
}

func (r *Reader) Text() (string, error) {
	if r.Next() != '"' {
		return "", r.Mismatch("a string")
	}
	raw, escaped, err := r.span()
	if err != nil {
		return "", err
	}
	if escaped {
		raw, err = unescape(raw)
	}
	return string(raw), err
}

// TextUpTo reads a string of up to limit bytes, or ErrOver if the JSON is too
// long for that, even if every byte is escaped. The caller checks the length of
// the result.
func (r *Reader) TextUpTo(limit int) (string, error) {
	r.until = r.pos + Escaped*limit + len(`""`)
	s, err := r.Text()
	r.until = 0
	return s, err
}

// Integer reads a whole number. As in JSON Schema, 3.0 and 30e-1 are 3.
func (r *Reader) Integer() (int, error) {
	if c := r.Next(); c != '-' && (c < '0' || c > '9') {
		return 0, r.Mismatch("a number")
	}
	start := r.pos
	if err := r.number(); err != nil {
		return 0, err
	}
	digits, ok := whole(string(r.data[start:r.pos]))
	if !ok {
		return 0, refuse("wrong_type", "must be a whole number, without a fraction")
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, refuse("out_of_range", "the number is too large or too small")
	}
	return n, nil
}

// whole returns the digits of a JSON number, and false if it has a fraction. Those
// of a number beyond 64 bits may be cut, but a float64 could not tell 1 from a
// fraction close to it.
func whole(number string) (digits string, ok bool) {
	const beyond = 1 << 30 // longer than any document
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	before, after, _ := strings.Cut(mantissa, ".")
	after = strings.TrimRight(after, "0")
	zeros, _ := strconv.Atoi(exponent) // 0 without an exponent; the nearest number if it is out of range
	zeros = max(-beyond, min(zeros, beyond)) - len(after)
	if digits = before + after; strings.Trim(digits, "-0") == "" {
		return "0", true
	}
	for zeros < 0 && strings.HasSuffix(digits, "0") {
		digits, zeros = digits[:len(digits)-1], zeros+1
	}
	return digits + strings.Repeat("0", min(max(zeros, 0), len("9223372036854775807"))), zeros >= 0
}

// Int64 reads a whole number.
func (r *Reader) Int64() (int64, error) {
	n, err := r.Integer()
	return int64(n), err
}

// Float reads a number.
func (r *Reader) Float() (float64, error) {
	if c := r.Next(); c != '-' && (c < '0' || c > '9') {
		return 0, r.Mismatch("a number")
	}
	start := r.pos
	if err := r.number(); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(r.data[start:r.pos]), 64)
	if err != nil {
		return 0, refuse("out_of_range", "the number is too large or too small")
	}
	return f, nil
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	switch r.Next() {
	case 't', 'f':
		word, err := r.Raw(len(r.data))
		return string(word) == "true", err
	}
	return false, r.Mismatch("true or false")
}

// Null reads a null, and reports whether there was one.
func (r *Reader) Null() bool {
	if r.Next() != 'n' || !bytes.HasPrefix(r.data[r.pos:], []byte("null")) {
		return false
	}
	r.pos += len("null")
	return true
}

// Raw reads any value and returns its bytes in the document. If the value has
// more than limit bytes, raw stops near the limit and returns ErrOver.
func (r *Reader) Raw(limit int) ([]byte, error) {
	r.space()
	start := r.pos
	r.until = start + limit
	err := r.skip()
	r.until = 0
	if err == nil && r.pos-start > limit {
		err = ErrOver
	}
	return r.data[start:r.pos], err
}

// Try reads a value with read. The value can be nested as deep as a whole
// document. If read refuses the value, Try skips it and returns the refusal. err
// is not nil if the end of the value cannot be found.
func (r *Reader) Try(read func() error) (refusal, err error) {
	r.space()
	start, depth, keys := r.pos, r.depth, len(r.keys)
	r.depth = 0
	if refusal = read(); refusal != nil {
		r.pos, r.depth, r.keys = start, 0, r.keys[:keys]
		r.lenient = true
		err = r.skip()
		r.lenient = false
	}
	r.depth = depth
	return refusal, err
}

func (r *Reader) skip() error {
	switch c := r.Next(); {
	case c == '{':
		return r.Object(func([]byte) error { return r.skip() })
	case c == '[':
		return r.Array(func(int) error { return r.skip() })
	case c == '"':
		_, _, err := r.span()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(r.data[r.pos:], []byte(word)) {
			r.pos += len(word)
			return nil
		}
	}
	return r.broken("missing value")
}

// number skips a number, whose first character the caller has checked.
func (r *Reader) number() error {
	if r.at('-') {
		r.pos++
	}
	start := r.pos
	if n := r.digits(); n == 0 || n > 1 && r.data[start] == '0' {
		r.pos = start
		return r.broken("invalid number")
	}
	if r.at('.') {
		r.pos++
		if r.digits() == 0 {
			return r.broken("digits are missing")
		}
	}
	if r.at('e') || r.at('E') {
		r.pos++
		if r.at('+') || r.at('-') {
			r.pos++
		}
		if r.digits() == 0 {
			return r.broken("digits are missing")
		}
	}
	return nil
}

func (r *Reader) at(c byte) bool { return r.pos < len(r.data) && r.data[r.pos] == c }

func (r *Reader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && r.data[r.pos] >= '0' && r.data[r.pos] <= '9' {
		r.pos++
	}
	return r.pos - start
}

// Next skips white space and returns the byte after it, or 0 at the end.
func (r *Reader) Next() byte {
	r.space()
	if r.pos == len(r.data) {
		return 0
	}
	return r.data[r.pos]
}

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// Mismatch returns the error of a value with another type than want.
func (r *Reader) Mismatch(want string) error {
	got := ""
	switch c := r.Next(); {
	case c == '{':
		got = "an object"
	case c == '[':
		got = "an array"
	case c == '"':
		got = "a string"
	case c == '-' || c >= '0' && c <= '9':
		got = "a number"
	case c == 't' || c == 'f':
		got = "a boolean"
	}
	if err := r.skip(); err != nil { // report the syntax error instead
		return err
	}
	if got == "" {
		return refuse("null_value", "must be "+want+", not null: leave it out")
	}
	return refuse("wrong_type", "must be "+want+", not "+got)
}

func (r *Reader) broken(why string) error {
	if r.pos >= len(r.data) {
		why = "unexpected end"
	}
	return refuse("bad_json", fmt.Sprintf("invalid JSON at byte %d: %s", r.pos, why))
}
