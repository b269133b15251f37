package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
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
	for _, own := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if reflect.PointerTo(t).Implements(own) && t != rawMessage {
			return appendAny
		}
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
	case reflect.Pointer:
		e := encoderOf(t.Elem())
		return orNull(func(b []byte, v reflect.Value) ([]byte, error) { return e(b, v.Elem()) })
	case reflect.Interface:
		return orNull(func(b []byte, v reflect.Value) ([]byte, error) { return encoderOf(v.Elem().Type())(b, v.Elem()) })
	case reflect.Slice:
		return orNull(encodeSlice(t))
	case reflect.Map:
		return orNull(encodeMap(t))
	case reflect.Struct:
		return encodeStruct(t)
	}
	return appendAny
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

func orNull(e encoder) encoder {
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return e(b, v)
	}
}

func appendAny(b []byte, v reflect.Value) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return b, err
	}
	return buf.Bytes()[:buf.Len()-len("\n")], nil
}

func appendText(b []byte, s string) []byte {
	if !plain(s) {
		b, _ = appendAny(b, reflect.ValueOf(s)) // encoding a string cannot fail
		return b
	}
	return append(append(append(b, '"'), s...), '"')
}

// plain reports whether each byte of s stands for itself in JSON: it is printable
// ASCII, but neither a quote nor a backslash. Half of the time of a reply went into
// this check, so it examines eight bytes at once. Each term sets the high bit of a
// byte that is not plain.
func plain(s string) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (x|(x+each)|(x-' '*each)|((x^'"'*each)-each)|((x^'\\'*each)-each))&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// encodeMap returns the encoder of a map, which sorts the keys. The client encodes a
// patch as a map of any values.
func encodeMap(t reflect.Type) encoder {
	if t.Key() != reflect.TypeFor[string]() {
		return appendAny
	}
	e := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		var room [8]string // for the keys of most maps
		keys := room[:0]
		texts, _ := v.Interface().(map[string]string)
		for k := range texts {
			keys = append(keys, k)
		}
		if texts == nil {
			for _, k := range v.MapKeys() {
				keys = append(keys, k.String())
			}
		}
		slices.Sort(keys)
		b = append(b, '{')
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, k), ':')
			if texts != nil {
				b = appendText(b, texts[k])
			} else if b, err = e(b, v.MapIndex(reflect.ValueOf(k))); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

func encodeSlice(t reflect.Type) encoder {
	switch {
	case t == rawMessage: // byte for byte
		return func(b []byte, v reflect.Value) ([]byte, error) { return append(b, v.Bytes()...), nil }
	case t.Elem().Kind() == reflect.Uint8: // base64
		return appendAny
	}
	e := encoderOf(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
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

type member struct {
	key    string                   // with the comma before it, the quotes and the colon
	text   bool                     // a string
	empty  bool                     // a string that is absent if it is empty
	absent func(reflect.Value) bool // the condition of any other field that can be absent
	encode encoder
	inner  []member // the members of an embedded struct, which has nothing else
}

// encodeStruct returns the encoder of a struct, but leaves a struct with a field
// that has no tag to encoding/json.
func encodeStruct(t reflect.Type) encoder {
	members, ok := membersOf(t)
	if !ok {
		return appendAny
	}
	return func(b []byte, v reflect.Value) ([]byte, error) {
		open := len(b)
		b, err := appendMembers(append(b, '{'), open+1, members, v)
		return append(b, '}'), err
	}
}

// membersOf returns the members of a struct, with its fields in their order, or
// false if a field has no tag.
func membersOf(t reflect.Type) (all []member, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			inner, ok := membersOf(f.Type)
			if !ok {
				return nil, false
			}
			all = append(all, member{inner: inner})
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || option != "" && !strings.HasPrefix(option, "omit") {
			return nil, false
		}
		m := member{text: f.Type == reflect.TypeFor[string](), key: "," + string(appendText(nil, name)) + ":", encode: encoderOf(f.Type)}
		switch {
		case option == "omitzero":
			m.absent = isZero
		case option == "omitempty" && m.text:
			m.empty = true
		case option == "omitempty":
			m.absent = emptinessOf(f.Type)
		}
		all = append(all, m)
	}
	return all, true
}

// appendMembers appends the members of an object that has its first at b[first:].
// Most fields of a task are texts, and most of those are absent, so texts are
// appended here, without a call for each.
func appendMembers(b []byte, first int, members []member, v reflect.Value) (_ []byte, err error) {
	for i := range members {
		m, value := &members[i], v.Field(i)
		if m.inner != nil {
			if b, err = appendMembers(b, first, m.inner, value); err != nil {
				return b, err
			}
			continue
		}
		key := m.key
		if len(b) == first {
			key = key[len(","):]
		}
		switch {
		case m.text:
			if text := value.String(); text != "" || !m.empty {
				b = appendText(append(b, key...), text)
			}
		case m.absent == nil || !m.absent(value):
			if b, err = m.encode(append(b, key...), value); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// emptinessOf returns the condition of omitempty, or nil if a value of the type is
// never empty.
func emptinessOf(t reflect.Type) func(reflect.Value) bool {
	switch t.Kind() {
	case reflect.String, reflect.Map, reflect.Slice:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Pointer, reflect.Interface:
		return reflect.Value.IsNil
	case reflect.Struct:
		return nil
	}
	return reflect.Value.IsZero
}

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
