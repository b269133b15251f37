package client

import (
	"bytes"

	"github.com/foliot/foliot/internal/wire"
)

// marshal returns v as JSON. A body in it stays byte for byte, and characters
// that are special in HTML stay unescaped.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	if err := wire.Encode(&buf, v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// object builds a JSON object field by field. The values stay byte for byte as
// they are.
type object struct {
	buf []byte
	err error // the first error
}

// set adds a field.
func (o *object) set(key string, v any) {
	value, err := marshal(v)
	if o.err == nil {
		o.err = err
	}
	o.raw(key, value)
}

// raw adds a field with a value that is JSON already.
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

// empty reports whether the object has no field.
func (o *object) empty() bool { return len(o.buf) == 0 }

// bytes returns the object.
func (o *object) bytes() ([]byte, error) {
	if o.empty() {
		return []byte("{}"), o.err
	}
	return append(o.buf, '}'), o.err
}
