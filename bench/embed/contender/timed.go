package contender

import (
	"reflect"
	"slices"
	"time"
)

// timed lists the methods of library that take an id and a time, or an id and
// options with a time. Only such a method can move a task that exists.
func timed(library, id reflect.Type) (list []string) {
	for i := range library.NumMethod() {
		m := library.Method(i)
		var in []reflect.Type
		for j := 1; j < m.Type.NumIn(); j++ { // the first is the receiver
			in = append(in, m.Type.In(j))
		}
		if slices.Contains(in, id) && slices.ContainsFunc(in, hasTime) {
			list = append(list, m.Name)
		}
	}
	return list
}

// hasTime reports whether a value of the type can contain a time or a duration.
func hasTime(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[time.Duration]():
		return true
	case t.Kind() != reflect.Struct:
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Type != t && hasTime(f.Type) {
			return true
		}
	}
	return false
}
