package api

import (
	"reflect"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// A field of package wire and the field of the domain with the same name are one
// field. The code in this file reads and shows such fields by their types, under the
// names in the tags. So only a field with a rule of its own has code elsewhere.

// The fields that a client can set, which are the suggestions for misspelled
// ones.
var (
	requestFields  = fieldNames[wire.HTTPInput]()
	workFields     = fieldNames[wire.WorkInput]()
	retryFields    = fieldNames[wire.Retry]()
	taskFieldNames = fieldNames[wire.TaskInput]()
	secretFields   = fieldNames[wire.SecretInput]()
	tokenFields    = fieldNames[wire.TokenInput]()
	scheduleFields = fieldNames[wire.ScheduleInput]()
)

// fieldNames returns the JSON names of T's fields, and after them the paths of the
// fields of its objects.
func fieldNames[T any]() []string { return fieldNamesBelow("", reflect.TypeFor[T]()) }

func fieldNamesBelow(path string, t reflect.Type) (names []string) {
	var below []string
	for _, f := range fields.Of(t) {
		names = append(names, path+f.JSON)
		if inner := pointed(f.Type); inner.Kind() == reflect.Struct {
			below = append(below, fieldNamesBelow(path+f.JSON+".", inner)...)
		}
	}
	return append(names, below...)
}

func pointed(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// replyOnly returns the fields of a reply that its request does not have, except
// the name, which can be the one in the path.
func replyOnly[Reply, Request any]() map[string]bool {
	only := map[string]bool{}
	for _, f := range fields.Of(reflect.TypeFor[Reply]()) {
		only[f.JSON] = f.JSON != "name"
	}
	for _, f := range fields.Of(reflect.TypeFor[Request]()) {
		delete(only, f.JSON)
	}
	return only
}

// noSuchField refuses a field that is not one of known, and suggests the one
// that is spelled most like it.
func noSuchField(key []byte, known []string) error {
	detail := "unknown field"
	near := spelling.Nearest(string(key), known)
	if near == string(key) { // a field of another object
		near = ""
	}
	if near != "" {
		detail += "; did you mean " + near + "?"
	}
	return suggest(refuse("unknown_field", "", detail), near)
}

// valueReader reads a value into a field of the domain.
type valueReader func(r *reader, into reflect.Value) error

// fieldReader reads the fields of an object into a struct of the domain.
type fieldReader struct {
	readers map[string]valueReader // by the names of the fields; they get the struct
	known   []string
}

// readerOf returns the reader of the fields that W, a type of package wire, and D, a
// type of the domain, have in common. stop describes how to stop the work that a
// number of at least 1 limits: see bound. If stop is "", numbers limit nothing.
func readerOf[W, D any](stop string) *fieldReader {
	return newFieldReader(reflect.TypeFor[W](), reflect.TypeFor[D](), stop)
}

func newFieldReader(shape, domain reflect.Type, stop string) *fieldReader {
	all := &fieldReader{map[string]valueReader{}, fieldNamesBelow("", shape)}
	for _, f := range fields.Of(shape) {
		target, ok := domain.FieldByName(f.Name)
		if !ok {
			continue
		}
		stop := stop
		if least := f.Tag.Get("minimum"); least == "" || least == "0" {
			stop = ""
		}
		if read := readerOfValue(f.Type, target.Type, stop); read != nil {
			all.readers[f.JSON] = func(r *reader, into reflect.Value) error { return read(r, into.FieldByIndex(target.Index)) }
		}
	}
	return all
}

func (f *fieldReader) has(key []byte) bool { return f.readers[string(key)] != nil }

// read reads the field with that name into the struct to which into points.
func (f *fieldReader) read(r *reader, key []byte, into any) error {
	return f.readInto(r, key, reflect.ValueOf(into).Elem())
}

func (f *fieldReader) readInto(r *reader, key []byte, into reflect.Value) error {
	read := f.readers[string(key)]
	if read == nil {
		return noSuchField(key, f.known)
	}
	return read(r, into)
}

// readerOfValue returns the reader of a field that has the type shape in package
// wire and t in the domain, or nil if its type needs a rule.
func readerOfValue(shape, t reflect.Type, stop string) valueReader {
	switch reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return valueOf((*reader).duration)
	case task.Millis:
		return valueOf((*reader).instant)
	case int:
		return number((*reader).Integer, stop)
	case int64:
		return number((*reader).Int64, stop)
	case float64:
		return number((*reader).Float, stop)
	case bool:
		return valueOf((*reader).Bool)
	case string:
		return valueOf((*reader).Text)
	case map[string]string:
		return valueOf((*reader).textMap)
	}
	switch shape = pointed(shape); {
	case t.Kind() == reflect.Pointer:
		read := readerOfValue(shape, t.Elem(), stop)
		if read == nil {
			return nil
		}
		return func(r *reader, into reflect.Value) error {
			into.Set(reflect.New(t.Elem()))
			return read(r, into.Elem())
		}
	case t.Kind() == reflect.Struct && shape.Kind() == reflect.Struct:
		inner := newFieldReader(shape, t, stop)
		return func(r *reader, into reflect.Value) error {
			return r.Object(func(key []byte) error { return inner.readInto(r, key, into) })
		}
	}
	return nil
}

func valueOf[T any](read func(*reader) (T, error)) valueReader {
	return func(r *reader, into reflect.Value) (err error) {
		*into.Addr().Interface().(*T), err = read(r)
		return err
	}
}

func number[N int | int64 | float64](read func(*reader) (N, error), stop string) valueReader {
	if stop == "" {
		return valueOf(read)
	}
	return valueOf(func(r *reader) (N, error) { return bound(r, read, stop) })
}

// bound reads a limit with read. null means no limit. bound refuses 0, which must
// not mean "no limit": it can come from a wrong computation, or from a number too
// small for its type. stop describes how to stop the limited work.
func bound[N int | int64 | float64](r *reader, read func(*reader) (N, error), stop string) (N, error) {
	if r.Null() {
		return 0, nil
	}
	n, err := read(r)
	if err == nil && n == 0 {
		err = refuse("out_of_range", "", "0 is not a limit; for no limit, leave it out; "+stop)
	}
	return n, err
}

// showing returns a function that sets the fields of W, a type of package wire, that
// D, a type of the domain, has too and that are not zero. The fields in own have rules
// of their own.
func showing[W, D any](own ...string) func(*W, *D) {
	plan := fields.New(reflect.TypeFor[W](), reflect.TypeFor[D](), asText, own...)
	return func(w *W, d *D) {
		_ = plan.Merge(reflect.ValueOf(w).Elem(), reflect.ValueOf(d).Elem()) // no conversion can fail
	}
}

var asText = fields.Rules(
	fields.Convert(showOptional), fields.Convert(showDuration),
	fields.Convert(settings.Scope.String), fields.Convert(task.Priority.String),
	fields.Convert(func(d *time.Duration) string {
		if d == nil {
			return ""
		}
		return timespan.Text(*d)
	}),
	fields.Convert(func(text string) *string { return &text }),
)
