package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// WriteJSON writes v as one line of JSON. For a terminal it escapes control
// characters. Both forms mean the same to a program.
func WriteJSON(w io.Writer, v any, terminal bool) error {
	if !terminal {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	var line bytes.Buffer
	if err := WriteJSON(&line, v, false); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(line.Bytes()))
	return err
}

// escapeJSON returns a line of JSON with \u escapes for all characters that are
// not printable: C0 and C1 control characters, and characters that change the
// direction of text. They occur only in strings, where the escape means the
// same.
func escapeJSON(line []byte) []byte {
	escaped := make([]byte, 0, len(line)+len(line)/8)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			escaped = append(escaped, line[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default: // an invalid byte becomes \ufffd, as JSON decoders read it
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
		line = line[n:]
	}
	return escaped
}
