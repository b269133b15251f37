// Package fields copies structs field by field. Each resource has several types:
// the JSON of package wire, the settings of the server, the types of the client,
// and the flags of a command. A Plan copies the fields that have the same name in
// two of these types. So a new field needs a line in each type, and no other code.
package fields

import (
	"reflect"
	"slices"
	"strings"
)

// field is a field of a struct that becomes JSON.
type field struct {
	JSON string // its name in JSON
	reflect.StructField
}

// Of returns the fields of a struct in the order of their JSON; fields of embedded
// structs count as its own.
func Of(t reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all = append(all, field{name, f})
		}
	}
	return all
}

// Required reports whether JSON has the zero value of a field too.
func Required(f reflect.StructField) bool {
	tag, ok := f.Tag.Lookup("json")
	return ok && !strings.Contains(tag, ",omit")
}

// Plan copies structs of one type to structs of another.
type Plan struct {
	steps []step
	// Missing has the names of the fields that the plan does not fill: the source has
	// no field of that name, or one that no rule converts.
	Missing []string
}

type step struct {
	to, from []int
	copy     Copy
}

// Copy copies a value, with an error that says why the value cannot be
// converted.
type Copy func(to, from reflect.Value) error

// Rule returns the Copy to a field from a type, or nil if it has none. The type of
// the field can be that of an element of it.
type Rule func(to reflect.StructField, from reflect.Type) Copy

// New returns a plan that leaves out the fields with the names in except. Equal
// types need no rule, and neither do texts, structs, pointers to structs, and
// slices. A nil pointer changes nothing, and a struct without values becomes a nil
// pointer.
func New(to, from reflect.Type, rule Rule, except ...string) *Plan {
	p := new(Plan)
	for _, f := range reflect.VisibleFields(to) {
		if f.Anonymous || !f.IsExported() || slices.Contains(except, f.Name) {
			continue
		}
		source, ok := named(from, f.Name)
		var c Copy
		if ok {
			c = rule.copyOf(f, source.Type)
		}
		if c == nil {
			p.Missing = append(p.Missing, f.Name)
			continue
		}
		p.steps = append(p.steps, step{f.Index, source.Index, c})
	}
	return p
}

// named returns the field of that name; the API's names of milliseconds end with
// MS.
func named(t reflect.Type, name string) (f reflect.StructField, ok bool) {
	for _, name := range []string{name, strings.TrimSuffix(name, "MS"), name + "MS"} {
		if f, ok = t.FieldByName(name); ok {
			return f, true
		}
	}
	return f, false
}

// Copy fills the struct to, and returns the first error; the later fields then
// stay as they are.
func (p *Plan) Copy(to, from reflect.Value) error { return p.fill(to, from, true) }

// Merge is Copy, except that a zero field of from changes nothing.
func (p *Plan) Merge(to, from reflect.Value) error { return p.fill(to, from, false) }

func (p *Plan) fill(to, from reflect.Value, zeros bool) error {
	for _, s := range p.steps {
		source := from.FieldByIndex(s.from)
		if !zeros && source.IsZero() {
			continue
		}
		if err := s.copy(to.FieldByIndex(s.to), source); err != nil {
			return err
		}
	}
	return nil
}

// copyOf returns the Copy to a field, or nil if the types have none.
func (rule Rule) copyOf(to reflect.StructField, from reflect.Type) Copy {
	if c := rule(to, from); c != nil {
		return c
	}
	kind := to.Type.Kind()
	switch {
	case to.Type == from:
		return func(to, from reflect.Value) error { to.Set(from); return nil }
	case from.Kind() == reflect.Pointer, kind == reflect.Pointer:
		return rule.pointer(to, from)
	case kind != from.Kind():
		return nil
	case kind == reflect.String:
		return func(to, from reflect.Value) error { to.SetString(from.String()); return nil }
	case kind == reflect.Struct:
		return rule.nested(to.Type, from)
	case kind == reflect.Slice:
		return rule.slice(to, from)
	}
	return nil
}

func (rule Rule) nested(to, from reflect.Type) Copy {
	p := New(to, from, rule)
	if len(p.Missing) > 0 {
		return nil
	}
	return p.Copy
}

// pointer returns a Copy between types of which at least one is a pointer.
func (rule Rule) pointer(to reflect.StructField, from reflect.Type) Copy {
	target, source := to.Type.Kind() == reflect.Pointer, from.Kind() == reflect.Pointer
	if target {
		to.Type = to.Type.Elem()
	}
	if source {
		from = from.Elem()
	}
	c := rule.copyOf(to, from)
	if c == nil {
		return nil
	}
	return func(to, from reflect.Value) error {
		if source {
			if from.IsNil() {
				return nil
			}
			from = from.Elem()
		} else if from.Kind() == reflect.Struct && from.IsZero() {
			return nil
		}
		if target {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		return c(to, from)
	}
}

func (rule Rule) slice(to reflect.StructField, from reflect.Type) Copy {
	always := Required(to)
	to.Type = to.Type.Elem()
	c := rule.copyOf(to, from.Elem())
	if c == nil {
		return nil
	}
	return func(to, from reflect.Value) error {
		n := from.Len()
		if n == 0 && !always {
			return nil
		}
		to.Set(reflect.MakeSlice(to.Type(), n, n))
		for i := range n {
			if err := c(to.Index(i), from.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// Conversion converts the values of one type to another.
type Conversion struct {
	to, from reflect.Type
	Copy     Copy
}

// Convert returns the conversion by a function.
func Convert[F, T any](convert func(F) T) Conversion {
	return Parse(func(v F) (T, error) { return convert(v), nil })
}

// Parse is Convert for a function that can fail.
func Parse[F, T any](convert func(F) (T, error)) Conversion {
	return Conversion{reflect.TypeFor[T](), reflect.TypeFor[F](), func(to, from reflect.Value) (err error) {
		if from.CanAddr() { // without a copy
			*to.Addr().Interface().(*T), err = convert(*from.Addr().Interface().(*F))
		} else {
			*to.Addr().Interface().(*T), err = convert(from.Interface().(F))
		}
		return err
	}}
}

// Rules returns the rule of these conversions.
func Rules(all ...Conversion) Rule {
	return func(to reflect.StructField, from reflect.Type) Copy {
		for _, c := range all {
			if c.to == to.Type && c.from == from {
				return c.Copy
			}
		}
		return nil
	}
}
