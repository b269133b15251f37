package client

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// The types of this package and those of the API have fields of the same names. So
// one function converts all of them but tasks and the specs of schedules, which
// have more than names in common.

// encode returns v as JSON of the API's type W.
func encode[W any](v any) ([]byte, error) {
	var w W
	convert(&w, v)
	return marshal(w)
}

// decode reads JSON of the API's type W into v.
func decode[W, T any](data []byte, v *T) error {
	return read(data, v, func(d *decoder, w W) (v T) {
		d.convert(&v, w)
		return v
	})
}

// read decodes JSON of the API's type W and converts it to v.
func read[W, T any](data []byte, v *T, convert func(*decoder, W) T) error {
	var w W
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	var d decoder
	*v = convert(&d, w)
	return d.err
}

// convert fills the fields of *to from those of from, except the embedded structs
// with the names in skip.
func convert(to, from any, skip ...string) { new(decoder).convert(to, from, skip...) }

func (d *decoder) convert(to, from any, skip ...string) {
	d.fields(reflect.ValueOf(to).Elem(), reflect.ValueOf(from), skip)
}

// fields fills a struct. Fields of embedded structs count as its own.
func (d *decoder) fields(to, from reflect.Value, skip []string) {
	for i := range to.NumField() {
		switch f := to.Type().Field(i); {
		case f.Anonymous && !slices.Contains(skip, f.Name):
			d.fields(to.Field(i), from, nil)
		case f.IsExported() && !f.Anonymous:
			d.value(to.Field(i), named(from, f.Name), f)
		}
	}
}

// fieldsByName has the index of each field that named has found: a search by
// name takes longer than the copy.
var fieldsByName sync.Map // from fieldKey to []int

type fieldKey struct {
	of   reflect.Type
	name string
}

// named returns the field of that name. The API's names of milliseconds end with
// MS.
func named(v reflect.Value, name string) reflect.Value {
	key := fieldKey{v.Type(), name}
	if at, known := fieldsByName.Load(key); known {
		return v.FieldByIndex(at.([]int))
	}
	for _, name := range []string{name, strings.TrimSuffix(name, "MS"), name + "MS"} {
		if f, ok := v.Type().FieldByName(name); ok {
			fieldsByName.Store(key, f.Index)
			return v.FieldByIndex(f.Index)
		}
	}
	panic("client: " + v.Type().String() + " has no field " + name)
}

// value fills to, which is the field f or an element of it.
func (d *decoder) value(to, from reflect.Value, f reflect.StructField) {
	if to.Type() == from.Type() {
		to.Set(from)
		return
	}
	switch v := from.Interface().(type) {
	case time.Time:
		to.SetString(instant(v))
		if f.Name == "Local" {
			to.SetString(v.Format(time.RFC3339Nano))
		}
		return
	case time.Duration:
		switch to.Kind() {
		case reflect.String:
			if v != 0 || required(f) {
				to.SetString(v.String())
			}
		case reflect.Int64:
			to.SetInt(v.Milliseconds())
		default:
			to.SetFloat(inMS(v))
		}
		return
	case Duration:
		to.SetString(limit(v))
		return
	case Retry:
		to.Set(reflect.ValueOf(v.wire()))
		return
	}
	switch v := to.Addr().Interface().(type) {
	case *time.Time:
		*v = d.instant(from.String())
	case *time.Duration:
		switch from.Kind() {
		case reflect.String:
			*v = d.duration(from.String())
		case reflect.Int64:
			*v = time.Duration(from.Int()) * time.Millisecond
		default:
			*v = milliseconds(from.Float())
		}
	case *Duration:
		*v = d.limit(from.String())
	case *Retry:
		*v = d.retry(from.Interface().(*wire.Retry))
	default:
		d.composite(to, from, f)
	}
}

func (d *decoder) composite(to, from reflect.Value, f reflect.StructField) {
	switch {
	case from.Kind() == reflect.Pointer:
		if !from.IsNil() {
			d.value(indirect(to), from.Elem(), f)
		}
	case to.Kind() == reflect.Pointer:
		d.value(indirect(to), from, f)
	case to.Kind() == reflect.Struct:
		d.fields(to, from, nil)
	case to.Kind() == reflect.Slice:
		if from.IsNil() && !required(f) {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			d.value(to.Index(i), from.Index(i), f)
		}
	default: // a string of another type
		to.SetString(from.String())
	}
}

// required reports whether the API writes the zero value of a field too.
func required(f reflect.StructField) bool {
	tag, ok := f.Tag.Lookup("json")
	return ok && !strings.HasSuffix(tag, ",omitempty")
}

// indirect returns the value that a pointer points to, and allocates it. Of any
// other value it returns the value itself.
func indirect(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	v.Set(reflect.New(v.Type().Elem()))
	return v.Elem()
}
