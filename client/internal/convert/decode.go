package convert

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// Unmarshal is json.Unmarshal into a zero value of a type of package wire. It
// reads the form that servers write: members in the order of the fields, without
// white space between them. That takes a part of the time of encoding/json, which
// reads all other forms.
func Unmarshal[W any](data []byte, w *W) error {
	v := reflect.ValueOf(w).Elem()
	if rest, ok := decoderOf(v.Type())(data, v); ok && len(bytes.TrimSpace(rest)) == 0 {
		return nil
	}
	v.SetZero()
	return json.Unmarshal(data, w)
}

// BatchReply is wire.BatchReply, decoded by Unmarshal.
type BatchReply wire.BatchReply

// UnmarshalJSON implements json.Unmarshaler.
func (r *BatchReply) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, (*wire.BatchReply)(r))
}

// decoder decodes the value at the beginning of b into v and returns the rest. It
// returns false if encoding/json must decode the whole.
type decoder func(b []byte, v reflect.Value) (rest []byte, ok bool)

// decoders has the decoders that were used, by the reflect.Type of their values.
var decoders sync.Map

func decoderOf(t reflect.Type) decoder {
	if d, known := decoders.Load(t); known {
		return d.(decoder)
	}
	var d decoder
	switch {
	case t.Kind() == reflect.String:
		d = decodeText
	case t.Kind() == reflect.Struct:
		d = decodeStruct(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		d = decodeSlice(t)
	case t.Kind() == reflect.Pointer:
		elem := decoderOf(t.Elem())
		d = func(b []byte, v reflect.Value) ([]byte, bool) {
			v.Set(reflect.New(t.Elem()))
			return elem(b, v.Elem())
		}
	default:
		d = decodeAny
	}
	decoders.Store(t, d)
	return d
}

// decodeText decodes a string. Others than plain ones are left to encoding/json.
func decodeText(b []byte, v reflect.Value) ([]byte, bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			v.SetString(string(b[1:i]))
			return b[i+1:], true
		case c == '\\' || c < ' ' || c >= 0x80:
			return decodeAny(b, v)
		}
	}
	return nil, false
}

// decodeAny leaves a value in an object or an array to encoding/json. It finds the
// end of the value, which encoding/json checks.
func decodeAny(b []byte, v reflect.Value) ([]byte, bool) {
	depth, inText := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\\' && inText:
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return b[i:], !bytes.Equal(b[:i], []byte("null")) && json.Unmarshal(b[:i], v.Addr().Interface()) == nil
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil, false
}

// decodeStruct returns the decoder of a struct. The members of an object must have
// the order of the fields.
func decodeStruct(t reflect.Type) decoder {
	type member struct {
		key    []byte // with the quotes and the colon
		index  []int
		decode decoder
	}
	var members []member
	for _, f := range fields.Of(t) {
		members = append(members, member{[]byte(`"` + f.JSON + `":`), f.Index, decoderOf(f.Type)})
	}
	return func(b []byte, v reflect.Value) (_ []byte, ok bool) {
		if b, ok = bytes.CutPrefix(b, []byte("{")); !ok {
			return nil, false
		}
		if bytes.HasPrefix(b, []byte("}")) {
			return b[1:], true
		}
		for _, m := range members {
			if !bytes.HasPrefix(b, m.key) {
				continue
			}
			b, ok = m.decode(b[len(m.key):], v.FieldByIndex(m.index))
			switch {
			case !ok || len(b) == 0:
				return nil, false
			case b[0] == '}':
				return b[1:], true
			case b[0] != ',':
				return nil, false
			}
			b = b[1:]
		}
		return nil, false
	}
}

func decodeSlice(t reflect.Type) decoder {
	d := decoderOf(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, ok bool) {
		if b, ok = bytes.CutPrefix(b, []byte("[")); !ok {
			return nil, false
		}
		v.Set(reflect.MakeSlice(t, 0, 0))
		if bytes.HasPrefix(b, []byte("]")) {
			return b[1:], true
		}
		for n := 0; ; n++ {
			v.Grow(1)
			v.SetLen(n + 1)
			b, ok = d(b, v.Index(n))
			switch {
			case !ok || len(b) == 0:
				return nil, false
			case b[0] == ']':
				return b[1:], true
			case b[0] != ',':
				return nil, false
			}
			b = b[1:]
		}
	}
}
