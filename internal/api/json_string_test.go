package api

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheReaderStopsAtTheLimitOfAText(t *testing.T) {
	const whole, limit = 8 << 20, 10_000
	for name, part := range map[string]string{"plain": "x", "escaped": `\u0001`, "wide": "ä"} {
		long := []byte(`"` + strings.Repeat(part, whole/len(part)) + `"`)
		for kind, read := range map[string]struct {
			as   func(*reader) error
			far  int
			code string
		}{
			"a text":            {func(r *reader) error { _, err := r.text(); return err }, maxText, "too_long"},
			"a key":             {func(r *reader) error { _, err := r.key(); return err }, maxText, "too_long"},
			"a body":            {body("body", limit), escaped * limit, "body_too_large"},
			"a body in base64":  {body("body_base64", limit), escaped * 4 * limit / 3, "body_too_large"},
			"a value of a body": {func(r *reader) error { r.data[0] = '['; r.data[1] = '"'; return body("body", limit)(r) }, limit, "body_too_large"},
		} {
			r := &reader{data: bytes.Clone(long)}
			if err := read.as(r); codeOf(err) != read.code {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			if r.pos > read.far+2*yieldStep {
				t.Errorf("%s, %s: it was read up to byte %d of %d", kind, name, r.pos, len(long))
			}
		}
		r := &reader{data: long, lenient: true}
		if err := r.skip(); err != nil || r.pos != len(long) {
			t.Errorf("%s: the end was found at byte %d of %d: %v", name, r.pos, len(long), err)
		}
	}
}

func body(key string, limit int) func(*reader) error {
	return func(r *reader) error { return new(bodyReader).read(r, []byte(key), limit) }
}

func TestABodyOfTheLargestSizeIsAccepted(t *testing.T) {
	const limit = 200_000
	for _, part := range []string{"x", `\u0001`, `\/`, "ä"} {
		one, err := unescape([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		n := limit / len(one)
		for more, code := range map[int]string{0: "", 1: "body_too_large"} {
			r := &reader{data: []byte(`  "` + strings.Repeat(part, n+more) + `"`)}
			if err := body("body", limit)(r); codeOf(err) != code {
				t.Errorf("%d bytes, written as %s: %v", (n+more)*len(one), part, err)
			}
		}
	}
}

func TestTheReaderStopsAtTheLimitOfABody(t *testing.T) {
	const whole, limit = 8 << 20, 10_000
	for name, value := range map[string]string{
		"array":  "[0" + strings.Repeat(",0", whole/2) + "]",
		"object": `{"a":0` + strings.Repeat(`,"a":0`, whole/6) + "}",
		"text":   `["` + strings.Repeat("x", whole) + `"]`,
	} {
		r := &reader{data: []byte(value), lenient: name == "object"} // which has one key again and again
		if err := body("body", limit)(r); codeOf(err) != "body_too_large" {
			t.Errorf("%s: %v", name, err)
		}
		if r.pos > limit+2*yieldStep {
			t.Errorf("%s: it was read up to byte %d of %d", name, r.pos, len(value))
		}
	}
}
