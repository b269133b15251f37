package decode

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheReaderStopsAtTheLimitOfAText(t *testing.T) {
	const whole = 8 << 20
	for name, part := range map[string]string{"plain": "x", "escaped": `\u0001`, "wide": "ä"} {
		long := []byte(`"` + strings.Repeat(part, whole/len(part)) + `"`)
		for kind, read := range map[string]func(*Reader) error{
			"a text": func(r *Reader) error { _, err := r.Text(); return err },
			"a key":  func(r *Reader) error { _, err := r.key(); return err },
		} {
			r := &Reader{data: bytes.Clone(long)}
			if err := read(r); codeOf(err) != "too_long" {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			if r.pos > maxText+2*textStep {
				t.Errorf("%s, %s: it was read up to byte %d of %d", kind, name, r.pos, len(long))
			}
		}
		r := &Reader{data: long, lenient: true}
		if err := r.skip(); err != nil || r.pos != len(long) {
			t.Errorf("%s: the end was found at byte %d of %d: %v", name, r.pos, len(long), err)
		}
	}
}
