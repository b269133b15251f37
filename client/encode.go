package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/foliot/foliot/internal/wire"
)

// marshal returns v as JSON. Characters that HTML would mind stay as they are.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// encodeTask returns in as JSON, with its body byte for byte as it was given: encoding/json would take the spaces out of it.
func encodeTask(in wire.TaskInput) ([]byte, error) {
	body := in.HTTP.Body
	in.HTTP.Body = nil
	return withBody(in, in.HTTP, body)
}

// encodeSchedule is encodeTask for a schedule.
func encodeSchedule(in wire.ScheduleInput) ([]byte, error) {
	body := in.Task.HTTP.Body
	in.Task.HTTP.Body = nil
	return withBody(in, in.Task.HTTP, body)
}

// withBody returns v as JSON, with a body in the request that it has and that lacks one.
func withBody(v any, h wire.HTTPInput, body json.RawMessage) ([]byte, error) {
	whole, err := marshal(v)
	if err != nil || body == nil {
		return whole, err
	}
	request, err := marshal(h)
	if err != nil {
		return nil, err
	}
	// No string can contain this: its quotes would be escaped.
	head := append([]byte(`"http":`), request[:len(request)-1]...)
	before, after, found := bytes.Cut(whole, head)
	if !found {
		return nil, errors.New("encode the task: the request is not where it should be")
	}
	return slices.Concat(before, head, []byte(`,"body":`), body, after), nil
}

// object is a JSON object that is written field by field, with values that stay byte for byte as they are.
type object struct {
	buf []byte
	err error // the first
}

// set adds a field.
func (o *object) set(key string, v any) {
	value, err := marshal(v)
	if o.err == nil {
		o.err = err
	}
	o.raw(key, value)
}

// raw adds a field whose value is JSON already.
func (o *object) raw(key string, value []byte) {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	name, err := marshal(key)
	if o.err == nil {
		o.err = err
	}
	o.buf = append(append(append(o.buf, name...), ':'), value...)
}

// empty reports whether there is no field.
func (o *object) empty() bool { return len(o.buf) == 0 }

// bytes returns the object.
func (o *object) bytes() ([]byte, error) {
	if o.empty() {
		return []byte("{}"), o.err
	}
	return append(o.buf, '}'), o.err
}
