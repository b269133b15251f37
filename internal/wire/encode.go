package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Encode appends v as JSON. The body or the arguments of a Task, TaskInput,
// Schedule or ScheduleInput stay byte for byte as they are, while encoding/json
// would remove white space. Encode does not escape characters for HTML.
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
	v, body, placed := withoutBody(v)
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
	at := bytes.Index(buf.Bytes()[start:], []byte(placed))
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

// placeholder takes the place of the body or of the arguments.
var placeholder = json.RawMessage("0")

// withoutBody returns v with the placeholder, the body or the arguments that v
// had, and the JSON of the placeholder with its key. Other keys "body" and
// "args" are in headers and labels, and their values are strings. In a string
// the quotes would be escaped. body is empty if v has none.
func withoutBody(v any) (without any, body json.RawMessage, placed string) {
	switch v := v.(type) {
	case Schedule:
		body, placed = v.Task.takeBody()
		return v, body, placed
	case ScheduleInput:
		body, placed = v.Task.takeBody()
		return v, body, placed
	}
	return v, nil, ""
}

func (t *ScheduledTask) takeBody() (body json.RawMessage, placed string) {
	field, placed := &t.HTTP.Body, `"body":0`
	if !t.Work.IsZero() {
		field, placed = &t.Work.Args, `"args":0`
	}
	if body = *field; len(body) > 0 {
		*field = placeholder
	}
	return body, placed
}
