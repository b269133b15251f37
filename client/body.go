package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Body is the body of a task's request: JSON, text or bytes. The zero Body is
// no body. A Body is read-only, so it may be used for many tasks.
type Body struct {
	kind bodyKind
	data []byte
	err  error // from creating it; returned by the call that uses it
}

type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
	textBody
	binaryBody
)

// JSON returns v as a body of type application/json, unless a header sets
// another type; a json.RawMessage is sent byte for byte. If v cannot be
// encoded, the call that sends the body sends nothing and returns an Error with
// the Code bad_body.
func JSON(v any) Body {
	if raw, ok := v.(json.RawMessage); ok {
		raw = bytes.TrimSpace(raw)
		if !json.Valid(raw) {
			return Body{err: errors.New("the body is not valid JSON")}
		}
		return Body{kind: jsonBody, data: bytes.Clone(raw)}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Body{err: fmt.Errorf("encode the body: %w", err)}
	}
	return Body{kind: jsonBody, data: bytes.TrimSpace(buf.Bytes())}
}

// Text returns s as a body of type text/plain, unless a header sets another
// type. If s is not valid UTF-8, Text returns Bytes of it.
func Text(s string) Body {
	if !utf8.ValidString(s) {
		return Bytes([]byte(s))
	}
	return Body{kind: textBody, data: []byte(s)}
}

// Bytes returns b as a body, without a content type unless a header sets one.
func Bytes(b []byte) Body { return Body{kind: binaryBody, data: append([]byte{}, b...)} }

// asValue reports whether the API's body field, set to this JSON as a value,
// yields the same bytes. It does not for three kinds: white space around a
// value is dropped, a string is sent as its text, and null is sent as no body.
func (b Body) asValue() bool {
	return b.data[0] != '"' && string(b.data) != "null" && len(bytes.TrimSpace(b.data)) == len(b.data)
}

// IsZero reports whether there is no body.
func (b Body) IsZero() bool { return b.kind == noBody && b.err == nil }

// Bytes returns the bytes to send, nil if there is no body. The caller must not
// change them.
func (b Body) Bytes() []byte { return b.data }

// IsJSON reports whether the body was given as JSON.
func (b Body) IsJSON() bool { return b.kind == jsonBody }

// IsText reports whether the body was given as text.
func (b Body) IsText() bool { return b.kind == textBody }

// Decode decodes a body of JSON into v.
func (b Body) Decode(v any) error {
	if b.err != nil {
		return b.err
	}
	return json.Unmarshal(b.data, v)
}
