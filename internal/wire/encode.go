package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Encode appends v as JSON. If v is a Task, a TaskInput, a Schedule or a
// ScheduleInput, its body stays byte for byte as it is: encoding/json would
// remove the white space in it. Characters that HTML would mind stay too.
func Encode(buf *bytes.Buffer, v any) error {
	body := bodyOf(v)
	if body != nil {
		v = withBody(v, placeholder)
	}
	start := buf.Len()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - 1) // the encoder ends with a new line
	if body == nil {
		return nil
	}
	at := bytes.Index(buf.Bytes()[start:], placed)
	if at < 0 {
		return errors.New("encode a body: its place is missing")
	}
	at += start + len(placed) - len(placeholder)
	rest := bytes.Clone(buf.Bytes()[at+len(placeholder):])
	buf.Truncate(at)
	buf.Write(body)
	buf.Write(rest)
	return nil
}

// placeholder stands for a body, and placed is where it stands: other keys
// "body" are those of headers and labels, whose values are strings, and in a
// string the quotes would be escaped.
var placeholder, placed = json.RawMessage("0"), []byte(`"body":0`)

func bodyOf(v any) json.RawMessage {
	switch v := v.(type) {
	case Task:
		return v.HTTP.Body
	case TaskInput:
		return v.HTTP.Body
	case Schedule:
		return v.Task.HTTP.Body
	case ScheduleInput:
		return v.Task.HTTP.Body
	}
	return nil
}

// withBody returns v, which has a body, with another one.
func withBody(v any, body json.RawMessage) any {
	switch v := v.(type) {
	case Task:
		v.HTTP.Body = body
		return v
	case TaskInput:
		v.HTTP.Body = body
		return v
	case Schedule:
		v.Task.HTTP.Body = body
		return v
	case ScheduleInput:
		v.Task.HTTP.Body = body
		return v
	}
	return v
}
