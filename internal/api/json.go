package api

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/foliot/foliot/internal/task"
)

// reader parses one JSON document strictly and in one pass. It checks syntax,
// UTF-8, nesting and duplicate keys, also in values that are only stored, such
// as the body of a task. encoding/json accepts documents that another parser
// may read differently: it takes the last of two equal keys, and replaces
// invalid characters.
//
// Its errors are *task.FieldError. Their path begins at the reader's position.
// Results do not refer to the document, except those of raw.
type reader struct {
	data  []byte
	pos   int
	depth int
	keys  [][]byte // of the objects that are open, the innermost last
	until int      // the position at which a stored value must have ended; 0: no bound
	yield int      // the position at which other goroutines run next

	// lenient is set to find the end of a value that was already refused. Only an
	// error that hides the end counts then.
	lenient bool
}

// lenientDepth bounds the recursion in lenient mode, which does not check
// nesting.
const lenientDepth = 1000

// document reads data as one value with read. No data may follow.
func document(data []byte, read func(*reader) error) error {
	r := &reader{data: data}
	if r.space(); r.pos == len(data) {
		return refuse("empty_body", "", "the body is empty: send a JSON object")
	}
	if err := read(r); err != nil {
		return err
	}
	if r.space(); r.pos < len(data) {
		return refuse("trailing_data", "", fmt.Sprintf("unexpected data after the JSON value, at byte %d", r.pos))
	}
	return nil
}

// object reads an object. It calls member at each value, which must read the
// value. It prepends the key to the path of an error.
func (r *reader) object(member func(key []byte) error) error {
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
			return within(key, err)
		}
		if r.repeated(base, key, &many) {
			return within(key, refuse("duplicate_key", "", "duplicate key"))
		}
		if err := r.expect(':'); err != nil {
			return within(key, err)
		}
		if err := member(key); err != nil {
			return within(key, err)
		}
	}
	r.keys = r.keys[:base]
	r.depth--
	return nil
}

// errOver stops the parsing of a value that is longer than its limit.
var errOver = errors.New("over the limit")

// yieldStep is the number of bytes that are read before other goroutines run,
// about a millisecond. The scheduler by itself interrupts a computing goroutine
// after ten. Deliveries would wait that long at each step.
const yieldStep = 64 << 10

// maxText bounds a string outside a task's body, in bytes of JSON. It is far
// above every limit on such strings, so a longer one need not be unescaped.
const maxText = 1 << 20

// inBounds lets other goroutines run if it is their turn. It returns an error
// if the value exceeds its limit.
func (r *reader) inBounds() error {
	r.rest()
	if r.until > 0 && r.pos > r.until {
		return errOver
	}
	return nil
}

// rest lets other goroutines run after each yieldStep.
func (r *reader) rest() {
	if r.pos >= r.yield+yieldStep {
		r.yield = r.pos
		runtime.Gosched()
	}
}

// array reads an array. It calls item at each value, which must read the value.
func (r *reader) array(item func(i int) error) error {
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
			return within([]byte("["+strconv.Itoa(i)+"]"), err)
		}
	}
	r.depth--
	return nil
}

// open enters an object or array.
func (r *reader) open(bracket byte, expected string) error {
	if r.next() != bracket {
		return r.mismatch(expected)
	}
	r.pos++
	r.depth++
	if r.depth > task.MaxNesting && !r.lenient || r.depth > lenientDepth {
		return refuse("too_deep", "", fmt.Sprintf("JSON must be nested at most %d levels deep", task.MaxNesting))
	}
	return nil
}

// closed reports whether the object or array ends here, and then skips the
// bracket.
func (r *reader) closed(bracket byte) bool {
	if r.next() != bracket {
		return false
	}
	r.pos++
	return true
}

func (r *reader) expect(c byte) error {
	if r.next() != c {
		return r.broken("missing " + strconv.QuoteRune(rune(c)))
	}
	r.pos++
	// A value must follow a comma: [1,] and {"a":1,} are not JSON.
	if n := r.next(); c == ',' && (n == ']' || n == '}') {
		return r.broken("missing value after the comma")
	}
	return nil
}

// repeated reports whether key occurred since base, and records it.
func (r *reader) repeated(base int, key []byte, many *map[string]bool) bool {
	if r.lenient {
		return false
	}
	const few = 16
	open := r.keys[base:]
	if len(open) < few {
		for _, k := range open {
			if bytes.Equal(k, key) {
				return true
			}
		}
		r.keys = append(r.keys, key)
		return false
	}
	if *many == nil {
		*many = make(map[string]bool, 4*few)
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

// key reads an object's key. The result is valid as long as the document.
func (r *reader) key() ([]byte, error) {
	if r.next() != '"' {
		return nil, r.broken("missing key in quotes")
	}
	raw, escaped, err := r.span()
	if err != nil || !escaped || r.lenient {
		return raw, err
	}
	return unescape(raw)
}

// text reads a string.
func (r *reader) text() (string, error) {
	if r.next() != '"' {
		return "", r.mismatch("a string")
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

// textUpTo reads a string of up to limit bytes. It returns errOver if the JSON
// is too long for that, even if every byte is escaped. The caller checks the
// length of the result.
func (r *reader) textUpTo(limit int) (string, error) {
	r.until = r.pos + escaped*limit + len(`""`)
	s, err := r.text()
	r.until = 0
	return s, err
}

// integer reads a number without fraction and exponent.
func (r *reader) integer() (int, error) {
	if c := r.next(); c != '-' && (c < '0' || c > '9') {
		return 0, r.mismatch("a number")
	}
	start := r.pos
	if err := r.number(); err != nil {
		return 0, err
	}
	digits := r.data[start:r.pos]
	if bytes.ContainsAny(digits, ".eE") {
		return 0, refuse("wrong_type", "", "must be a whole number, without fraction and exponent")
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return 0, refuse("out_of_range", "", "the number is too large or too small")
	}
	return n, nil
}

// null reads a null, and reports whether there was one.
func (r *reader) null() bool {
	if r.next() != 'n' || !bytes.HasPrefix(r.data[r.pos:], []byte("null")) {
		return false
	}
	r.pos += len("null")
	return true
}

// raw reads any value and returns its bytes in the document. If the value has
// more than limit bytes, raw stops near the limit and returns errOver.
func (r *reader) raw(limit int) ([]byte, error) {
	r.space()
	start := r.pos
	r.until = start + limit
	err := r.skip()
	r.until = 0
	if err == nil && r.pos-start > limit {
		err = errOver
	}
	return r.data[start:r.pos], err
}

// skip reads any value.
func (r *reader) skip() error {
	switch c := r.next(); {
	case c == '{':
		return r.object(func([]byte) error { return r.skip() })
	case c == '[':
		return r.array(func(int) error { return r.skip() })
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

// number skips a number. The caller has checked its first character.
func (r *reader) number() error {
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

func (r *reader) at(c byte) bool { return r.pos < len(r.data) && r.data[r.pos] == c }

func (r *reader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && r.data[r.pos] >= '0' && r.data[r.pos] <= '9' {
		r.pos++
		r.rest()
	}
	return r.pos - start
}

// next skips white space and returns the byte after it, 0 at the end.
func (r *reader) next() byte {
	r.space()
	if r.pos == len(r.data) {
		return 0
	}
	return r.data[r.pos]
}

func (r *reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
			r.rest()
		default:
			return
		}
	}
}

// mismatch returns the error of a value with another type than want.
func (r *reader) mismatch(want string) error {
	got := ""
	switch c := r.next(); {
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
		return refuse("null_value", "", "must be "+want+", not null: leave this out")
	}
	return refuse("wrong_type", "", "must be "+want+", not "+got)
}

func (r *reader) broken(why string) error {
	if r.pos >= len(r.data) {
		why = "unexpected end"
	}
	return refuse("bad_json", "", fmt.Sprintf("invalid JSON at byte %d: %s", r.pos, why))
}
