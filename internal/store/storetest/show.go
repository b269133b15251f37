package storetest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/foliot/foliot/internal/store"
)

// show prints a command as a Go literal would show it: zero fields are left
// out, pointers are followed, long texts are cut.
func show(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		write(b, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[store.Step]() {
			write(b, v.FieldByName("Transition")) // its type names the kind, and it has the key
			return
		}
		b.WriteString(v.Type().Name())
		list := func(yield func(string, reflect.Value)) {
			for i := range v.NumField() {
				if !v.Field(i).IsZero() {
					yield(v.Type().Field(i).Name, v.Field(i))
				}
			}
		}
		writeAll(b, list)
	case reflect.Map:
		writeAll(b, func(yield func(string, reflect.Value)) {
			for _, k := range v.MapKeys() {
				yield(fmt.Sprintf("%q", k.String()), v.MapIndex(k))
			}
		})
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Type().Elem().Name() == "uint8" {
			fmt.Fprintf(b, "%s", shorten(string(v.Bytes())))
			return
		}
		writeAll(b, func(yield func(string, reflect.Value)) {
			for i := range v.Len() {
				yield("", v.Index(i))
			}
		})
	case reflect.String:
		b.WriteString(shorten(v.String()))
	default:
		fmt.Fprintf(b, "%v", v)
	}
}

// writeAll prints a braced list of values, each with its label.
func writeAll(b *strings.Builder, each func(yield func(label string, v reflect.Value))) {
	b.WriteByte('{')
	first := true
	each(func(label string, v reflect.Value) {
		if !first {
			b.WriteString(", ")
		}
		first = false
		if label != "" {
			b.WriteString(label + ": ")
		}
		write(b, v)
	})
	b.WriteByte('}')
}

func shorten(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q… %d bytes", s[:40], len(s))
	}
	return fmt.Sprintf("%q", s)
}
