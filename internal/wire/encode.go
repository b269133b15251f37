package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Encode appends v as JSON. The body of a Task, TaskInput, Schedule or
// ScheduleInput stays byte for byte as it is, while encoding/json would remove
// its white space. Encode does not escape characters for HTML.
func Encode(buf *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case Task:
		return Encode(buf, &v)
	case *Task:
		buf.Write(v.appendTo(buf.AvailableBuffer()))
		return nil
	case TaskInput:
		buf.Write(v.appendTo(buf.AvailableBuffer()))
		return nil
	case BatchReply:
		const usual = len(`{"status":201,"name":"","id":"","due_at":""},`) + 2*len("018f3a5e-0000-7000-8000-000000000000") + len(TimeLayout)
		buf.Grow(len(v.Results) * usual)
		buf.Write(v.appendTo(buf.AvailableBuffer()))
		return nil
	}
	body := bodyOf(v)
	if len(body) > 0 {
		v = withBody(v, placeholder)
	}
	start := buf.Len()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - 1) // remove the final newline of the encoder
	if len(body) == 0 {
		return nil
	}
	at := bytes.Index(buf.Bytes()[start:], placed)
	if at < 0 {
		return errors.New("cannot encode the body: placeholder not found")
	}
	at += start + len(placed) - len(placeholder)
	rest := bytes.Clone(buf.Bytes()[at+len(placeholder):])
	buf.Truncate(at)
	buf.Write(body)
	buf.Write(rest)
	return nil
}

// placeholder takes the place of the body, and placed finds it. Other keys
// "body" are in headers and labels, and their values are strings. In a string
// the quotes would be escaped.
var placeholder, placed = json.RawMessage("0"), []byte(`"body":0`)

func bodyOf(v any) json.RawMessage {
	switch v := v.(type) {
	case Schedule:
		return v.Task.HTTP.Body
	case ScheduleInput:
		return v.Task.HTTP.Body
	}
	return nil
}

// withBody returns v with another body. v must have one.
func withBody(v any, body json.RawMessage) any {
	switch v := v.(type) {
	case Schedule:
		v.Task.HTTP.Body = body
		return v
	case ScheduleInput:
		v.Task.HTTP.Body = body
		return v
	}
	return v
}
