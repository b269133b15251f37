package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Body is what a task's request carries: JSON, text or bytes. The zero Body is none. It is read-only, and may be used for many tasks.
type Body struct {
	kind bodyKind
	data []byte
	err  error // of making it: what uses it returns it
}

type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
	textBody
	binaryBody
)

// JSON returns v as a body: with the content type application/json, unless a header says otherwise. A json.RawMessage is sent
// byte for byte. What cannot be encoded is an error of the call that sends it.
func JSON(v any) Body {
	if raw, ok := v.(json.RawMessage); ok {
		raw = bytes.TrimSpace(raw)
		if !json.Valid(raw) {
			return Body{err: errors.New("the body is no JSON")}
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

// Text returns s as a body: with the content type text/plain, unless a header says otherwise. What is not UTF-8 is sent as Bytes would.
func Text(s string) Body {
	if !utf8.ValidString(s) {
		return Bytes([]byte(s))
	}
	return Body{kind: textBody, data: []byte(s)}
}

// Bytes returns b as a body, without a content type unless a header gives one.
func Bytes(b []byte) Body { return Body{kind: binaryBody, data: append([]byte{}, b...)} }

// asValue reports whether JSON is sent byte for byte as the value of the API's field: it keeps no white space around a value, and would
// send the text of a string, and nothing for null.
func (b Body) asValue() bool {
	return b.data[0] != '"' && string(b.data) != "null" && len(bytes.TrimSpace(b.data)) == len(b.data)
}

// IsZero reports whether there is no body.
func (b Body) IsZero() bool { return b.kind == noBody && b.err == nil }

// Bytes returns what is sent, nil where there is no body. The caller must not change it.
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
