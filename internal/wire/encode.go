package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Encode appends v as JSON, in the form of encoding/json but with two
// differences: a body and the arguments of a handler stay byte for byte as they
// are, and characters that are special in HTML stay unescaped.
//
// It makes an encoder for each type once, from the tags of the fields. For a task,
// most fields of which are absent, it takes a part of the time of encoding/json.
func Encode(buf *bytes.Buffer, v any) error {
	of := reflect.ValueOf(v)
	if !of.IsValid() {
		buf.WriteString("null")
		return nil
	}
	b, err := encoderOf(of.Type())(buf.AvailableBuffer(), of)
	if err != nil {
		return err
	}
	buf.Write(b)
	return nil
}

// encoder appends a value of one type.
type encoder func(b []byte, v reflect.Value) ([]byte, error)

// encoders has the encoders that were used, by the reflect.Type of their values.
var encoders sync.Map

func encoderOf(t reflect.Type) encoder {
	if e, known := encoders.Load(t); known {
		return e.(encoder)
	}
	e := newEncoder(t)
	encoders.Store(t, e)
	return e
}

func newEncoder(t reflect.Type) encoder {
	switch marshaler := reflect.TypeFor[json.Marshaler](); {
	case t == reflect.TypeFor[json.RawMessage]():
		return appendRaw
	case t == reflect.TypeFor[map[string]string]():
		return appendTexts
	case t.Implements(marshaler), reflect.PointerTo(t).Implements(marshaler):
		return appendAny
	}
	switch t.Kind() {
	case reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return appendText(b, v.String()), nil }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case reflect.Int, reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(b, v.Uint(), 10), nil }
	case reflect.Float64:
		return appendFloat
	case reflect.Pointer:
		return encodePointer(t)
	case reflect.Slice:
		return encodeSlice(t)
	case reflect.Struct:
		return encodeStruct(t)
	}
	return appendAny
}

// appendAny appends a value with encoding/json.
func appendAny(b []byte, v reflect.Value) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return b, err
	}
	return buf.Bytes()[:buf.Len()-len("\n")], nil
}

func appendRaw(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	return append(b, v.Bytes()...), nil
}

// appendFloat appends the numbers that encoding/json writes without an exponent,
// and leaves the others to it.
func appendFloat(b []byte, v reflect.Value) ([]byte, error) {
	f := v.Float()
	if size := math.Abs(f); size != 0 && !(size >= 1e-6 && size < 1e21) {
		return appendAny(b, v)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64), nil
}

// appendText appends s as a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b, _ = appendAny(b, reflect.ValueOf(s)) // encoding a string cannot fail
			return b
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendTexts appends a map[string]string, sorted by its keys.
func appendTexts(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	m := v.Interface().(map[string]string)
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(appendText(b, k), ':'), m[k])
	}
	return append(b, '}'), nil
}

func encodePointer(t reflect.Type) encoder {
	e := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return e(b, v.Elem())
	}
}

func encodeSlice(t reflect.Type) encoder {
	if t.Elem().Kind() == reflect.Uint8 { // base64
		return appendAny
	}
	e := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = e(b, v.Index(i)); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
}

// member is a field of a struct.
type member struct {
	key    string // with quotes and the colon
	index  []int
	absent func(reflect.Value) bool // nil if the field is always written
	encode encoder
}

// encodeStruct returns the encoder of a struct. It leaves a struct with a field that
// has no tag to encoding/json.
func encodeStruct(t reflect.Type) encoder {
	var members []member
	for _, f := range reflect.VisibleFields(t) {
		name, option, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag == "", !f.IsExported():
			continue
		case name == "" || name == "-" || tagged && !strings.HasPrefix(option, "omit"):
			return appendAny
		}
		m := member{key: string(appendText(nil, name)) + ":", index: f.Index, encode: encoderOf(f.Type)}
		switch option {
		case "omitempty":
			m.absent = isEmpty
		case "omitzero":
			m.absent = isZero
		}
		members = append(members, m)
	}
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		open := len(b)
		b = append(b, '{')
		for i := range members {
			m := &members[i]
			value := v.Field(m.index[0])
			if len(m.index) > 1 {
				value = value.FieldByIndex(m.index[1:])
			}
			if m.absent != nil && m.absent(value) {
				continue
			}
			if len(b) > open+1 {
				b = append(b, ',')
			}
			if b, err = m.encode(append(b, m.key...), value); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

// isEmpty is the condition of omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero is the condition of omitzero.
func isZero(v reflect.Value) bool {
	of := v
	if v.CanAddr() {
		of = v.Addr() // the value would be copied
	}
	if z, ok := of.Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}
