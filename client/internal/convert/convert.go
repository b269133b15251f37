// Package convert converts the types of the packages client and client/admin to
// those of the API and back. The types of both sides have fields of the same
// names, so a plan for each pair of types converts them.
package convert

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// Codec converts the types of one package.
type Codec struct {
	rule  fields.Rule
	plans sync.Map // the plans that were used: from pair to *fields.Plan
}

type pair struct{ to, from reflect.Type }

// New returns a Codec with conversions besides those of this package.
func New(own ...fields.Conversion) *Codec {
	byType := fields.Rules(append(own, common...)...)
	return &Codec{rule: func(to reflect.StructField, from reflect.Type) fields.Copy {
		switch {
		case to.Name == "Local" && from == reflect.TypeFor[time.Time](): // in a zone of its own
			return fields.Convert(func(t time.Time) string { return t.Format(time.RFC3339Nano) }).Copy
		case fields.Required(to) && to.Type.Kind() == reflect.String && from == reflect.TypeFor[time.Duration](): // 0s too
			return fields.Convert(timespan.Text).Copy
		}
		return byType(to, from)
	}}
}

// common has the values that the API writes as values of another type.
var common = []fields.Conversion{
	fields.Convert(Instant), fields.Parse(ReadInstant),
	fields.Convert(Duration), fields.Parse(ReadDuration),
	fields.Convert(time.Duration.Milliseconds), fields.Convert(func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }),
	fields.Convert(wire.MS), fields.Convert(milliseconds),
}

// Plan returns the plan that fills a type from another.
func (c *Codec) Plan(to, from reflect.Type, except ...string) *fields.Plan {
	types := pair{to, from}
	if known, ok := c.plans.Load(types); ok {
		return known.(*fields.Plan)
	}
	p := fields.New(to, from, c.rule, except...)
	c.plans.Store(types, p)
	return p
}

// Convert fills the fields of *to from those of from or *from, except those with
// the names in except, which must be the same for each use of two types.
func (c *Codec) Convert(to, from any, except ...string) error {
	target, source := reflect.ValueOf(to).Elem(), reflect.Indirect(reflect.ValueOf(from))
	p := c.Plan(target.Type(), source.Type(), except...)
	if len(p.Missing) > 0 {
		panic(fmt.Sprintf("client: %v has no fields for %v of %v", source.Type(), p.Missing, target.Type()))
	}
	return p.Copy(target, source)
}

// Encode returns v as JSON of the API's type W.
func Encode[W any](c *Codec, v any) ([]byte, error) {
	var w W
	if err := c.Convert(&w, v); err != nil {
		return nil, err
	}
	return Marshal(&w)
}

// Decode reads JSON of the API's type W into v.
func Decode[W, T any](c *Codec, data []byte, v *T) error {
	return Read(data, v, func(w *W) (v T, err error) {
		err = c.Convert(&v, w)
		return v, err
	})
}

// Read decodes JSON of the API's type W and converts it to v.
func Read[W, T any](data []byte, v *T, convert func(*W) (T, error)) error {
	var w W
	err := Unmarshal(data, &w)
	if err == nil {
		*v, err = convert(&w)
	}
	return err
}

// Marshal returns v as JSON, in which a body stays byte for byte and characters
// that are special in HTML stay unescaped.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(512) // most tasks
	if err := wire.Encode(&buf, v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Instant writes t for the API, with fractions of a millisecond, because the
// API rounds them up.
func Instant(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Nanosecond()%int(time.Millisecond) != 0:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return wire.FormatTime(t)
}

// ReadInstant reads an instant, the zero time from "".
func ReadInstant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if y := t.UTC().Year(); err == nil && (y < 0 || y > 9999) {
		err = fmt.Errorf("%q is outside the years 0 to 9999 in UTC", s)
	}
	return t, Reading("time", err)
}

// Duration writes d for the API, "" for zero.
func Duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return timespan.Text(d)
}

// ReadDuration reads a duration, zero from "".
func ReadDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := timespan.Parse(s)
	return d, Reading("duration", err)
}

// Reading adds to err the kind of value that could not be read.
func Reading(kind string, err error) error {
	if err != nil {
		err = fmt.Errorf("read a %s: %w", kind, err)
	}
	return err
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}
