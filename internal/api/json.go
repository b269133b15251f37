package api

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/foliot/foliot/internal/task"
)

// reader takes one JSON document apart, strictly and in one pass: syntax,
// UTF-8, nesting and duplicate keys are judged on the way, in the parts that
// are merely kept (a task's body) as in those that are understood. What
// encoding/json lets pass, a second reader may see differently: the last of
// two keys, or the first; a broken character, or a replacement.
//
// Its errors are *task.FieldError with the path from where the reader stands.
// It keeps no reference to the document in what it returns, but for raw.
type reader struct {
	data  []byte
	pos   int
	depth int
	keys  [][]byte // of the objects that are open, the innermost last
	until int      // where a value must have ended that is merely kept; 0: no bound
	yield int      // where other goroutines run next

	// lenient is for finding the end of a value that was already refused:
	// only what would hide the end is an error then.
	lenient bool
}

// lenientDepth bounds the recursion where nesting is not judged.
const lenientDepth = 1000

// document reads data as one value, with read, and nothing after it.
func document(data []byte, read func(*reader) error) error {
	r := &reader{data: data}
	if r.space(); r.pos == len(data) {
		return refuse("empty_body", "", "the body is empty: a JSON object is expected")
	}
	if err := read(r); err != nil {
		return err
	}
	if r.space(); r.pos < len(data) {
		return refuse("trailing_data", "", fmt.Sprintf("something follows the JSON value, at byte %d", r.pos))
	}
	return nil
}

// object reads an object. member is called at each value and reads it; its
// error is put under the key.
func (r *reader) object(member func(key []byte) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	base := len(r.keys)
	var many map[string]bool // of more than a few keys
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
			return within(key, refuse("duplicate_key", "", "the key is given twice"))
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

// errOver is why a value is given up that is longer than it may be: nothing more of it
// is taken apart.
var errOver = errors.New("over the limit")

// yieldStep is how many bytes are read before other goroutines run, about a millisecond. The
// scheduler by itself lets one that computes run for ten: deliveries would wait for that at each
// step.
const yieldStep = 64 << 10

// maxText bounds a string that is no part of a task's body, in bytes of JSON. It is far
// beyond what any of them may have: a longer one is not worth its unescaping.
const maxText = 1 << 20

// inBounds lets other goroutines run if it is their turn. It returns an error if the value
// is longer than it may be.
func (r *reader) inBounds() error {
	r.rest()
	if r.until > 0 && r.pos > r.until {
		return errOver
	}
	return nil
}

// rest lets other goroutines run if a step has been read since they could.
func (r *reader) rest() {
	if r.pos >= r.yield+yieldStep {
		r.yield = r.pos
		runtime.Gosched()
	}
}

// array reads an array. item is called at each value and reads it.
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
func (r *reader) open(bracket byte, what string) error {
	if r.next() != bracket {
		return r.mismatch(what)
	}
	r.pos++
	r.depth++
	if r.depth > task.MaxNesting && !r.lenient || r.depth > lenientDepth {
		return refuse("too_deep", "", fmt.Sprintf("JSON is nested at most %d deep here", task.MaxNesting))
	}
	return nil
}

// closed reports, and passes, the end of an object or array.
func (r *reader) closed(bracket byte) bool {
	if r.next() != bracket {
		return false
	}
	r.pos++
	return true
}

func (r *reader) expect(c byte) error {
	if r.next() != c {
		return r.broken("a " + strconv.QuoteRune(rune(c)) + " is missing")
	}
	r.pos++
	// A comma promises more: [1,] and {"a":1,} are not JSON.
	if n := r.next(); c == ',' && (n == ']' || n == '}') {
		return r.broken("nothing follows the comma")
	}
	return nil
}

// repeated reports whether key was seen since base, and notes it.
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

// key reads an object's key. It is valid while the document is.
func (r *reader) key() ([]byte, error) {
	if r.next() != '"' {
		return nil, r.broken("a key in quotes is expected")
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

// textUpTo reads a string that may have up to limit bytes. It gives up with errOver about
// where the JSON is too long for these, however they are escaped. The caller checks the
// length of a string that it returns.
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
		return 0, refuse("wrong_type", "", "a whole number is expected, without fraction and exponent")
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return 0, refuse("out_of_range", "", "the number is out of range")
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

// raw reads any value and returns its bytes, which are the document's. Of one with more
// than limit bytes it returns errOver, about as soon as it has read those.
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
	return r.broken("a value is expected")
}

// number passes a number. The caller has seen its first character.
func (r *reader) number() error {
	if r.at('-') {
		r.pos++
	}
	start := r.pos
	if n := r.digits(); n == 0 || n > 1 && r.data[start] == '0' {
		r.pos = start
		return r.broken("this is no number")
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

// next passes white space and returns the byte after it, 0 at the end.
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

// mismatch says that something else stands where want is expected.
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
	if err := r.skip(); err != nil { // broken JSON is the larger news
		return err
	}
	if got == "" {
		return refuse("null_value", "", want+" is expected, not null: leave the field out")
	}
	return refuse("wrong_type", "", want+" is expected, not "+got)
}

func (r *reader) broken(why string) error {
	if r.pos >= len(r.data) {
		why = "it ends too early"
	}
	return refuse("bad_json", "", fmt.Sprintf("the JSON is broken at byte %d: %s", r.pos, why))
}
