package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// The types of this package and those of the API have fields of the same names. So
// a plan for each pair of types converts them, with the conversions of this file.

// encode returns v as JSON of the API's type W.
func encode[W any](v any) ([]byte, error) {
	var w W
	if err := convert(&w, v); err != nil {
		return nil, err
	}
	return marshal(&w)
}

// decode reads JSON of the API's type W into v.
func decode[W, T any](data []byte, v *T) error {
	return read(data, v, func(w W) (v T, err error) {
		err = convert(&v, w)
		return v, err
	})
}

// read decodes JSON of the API's type W and converts it to v.
func read[W, T any](data []byte, v *T, convert func(W) (T, error)) error {
	var w W
	err := json.Unmarshal(data, &w)
	if err == nil {
		*v, err = convert(w)
	}
	return err
}

// plans has the plans that were used.
var plans sync.Map // from pair to *fields.Plan

type pair struct{ to, from reflect.Type }

// convert fills the fields of *to from those of from, except those with the names
// in except, which must be the same for each use of two types.
func convert(to, from any, except ...string) error {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	p := planOf(pair{target.Type(), source.Type()}, except...)
	if len(p.Missing) > 0 {
		panic(fmt.Sprintf("client: %v has no fields for %v of %v", source.Type(), p.Missing, target.Type()))
	}
	return p.Copy(target, source)
}

func planOf(types pair, except ...string) *fields.Plan {
	if known, ok := plans.Load(types); ok {
		return known.(*fields.Plan)
	}
	p := fields.New(types.to, types.from, rule, except...)
	plans.Store(types, p)
	return p
}

// rule returns the conversion to a field from a type, nil if the types decide.
func rule(to reflect.StructField, from reflect.Type) fields.Copy {
	switch {
	case to.Name == "Local" && from == reflect.TypeFor[time.Time](): // in a zone of its own
		return fields.Convert(func(t time.Time) string { return t.Format(time.RFC3339Nano) }).Copy
	case fields.Required(to) && to.Type.Kind() == reflect.String && from == reflect.TypeFor[time.Duration](): // 0s too
		return fields.Convert(time.Duration.String).Copy
	case to.Type == reflect.TypeFor[wire.ScheduledTask]():
		return fields.Parse(Spec.scheduled).Copy
	case from == reflect.TypeFor[wire.ScheduledTask]():
		return fields.Parse(readScheduled).Copy
	}
	return byType(to, from)
}

// byType has the values that the API writes as values of another type.
var byType = fields.Rules(
	fields.Convert(instant), fields.Parse(readInstant),
	fields.Convert(duration), fields.Parse(readDuration),
	fields.Convert(time.Duration.Milliseconds), fields.Convert(func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }),
	fields.Convert(inMS), fields.Convert(milliseconds),
	fields.Convert(window), fields.Parse(readWindow),
	fields.Convert(limit), fields.Parse(readLimit),
	fields.Convert(Limit.pointer), fields.Convert(attempts),
	fields.Convert(DeadNotice.wire), fields.Convert(deadNotice),
	fields.Parse(HTTP.wire), fields.Parse(readHTTP),
	fields.Parse(Work.wire), fields.Convert(work),
)

// instant writes t for the API, with fractions of a millisecond, because the
// API rounds them up.
func instant(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Nanosecond()%int(time.Millisecond) != 0:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return wire.FormatTime(t)
}

func readInstant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if y := t.UTC().Year(); err == nil && (y < 0 || y > 9999) {
		err = fmt.Errorf("%q is outside the years 0 to 9999 in UTC", s)
	}
	return t, reading("time", err)
}

func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func readDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	return d, reading("duration", err)
}

// window writes a duration for the API, "" for nil.
func window(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return d.String()
}

func readWindow(s string) (*time.Duration, error) {
	if s == "" {
		return nil, nil
	}
	d, err := readDuration(s)
	return &d, err
}

// limit writes d for the API, "" for the default.
func limit(d Duration) string {
	if d == 0 {
		return ""
	}
	return d.wire()
}

func readLimit(s string) (Duration, error) {
	d, err := readDuration(s)
	if s != "" && d == 0 {
		return Forever, err
	}
	return Duration(d), err
}

// pointer writes l for the API, nil for the default.
func (l Limit) pointer() *int {
	if l == 0 {
		return nil
	}
	n := l.wire()
	return &n
}

func attempts(n *int) Limit {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return Unlimited
	}
	return Limit(*n)
}

func (h HTTP) wire() (wire.HTTPInput, error) {
	in := wire.HTTPInput{URL: h.URL, Method: h.Method, Headers: h.Headers}
	err := h.Body.put(&in)
	return in, err
}

func readHTTP(in wire.HTTPInput) (HTTP, error) {
	h := HTTP{URL: in.URL, Method: in.Method, Headers: in.Headers}
	switch raw := in.Body; {
	case in.BodyBase64 != nil:
		data, err := base64.StdEncoding.DecodeString(*in.BodyBase64)
		h.Body = Body{kind: binaryBody, data: data}
		if len(raw) > 0 && json.Valid(data) { // JSON bytes that a JSON value would not keep
			h.Body.kind = jsonBody
		}
		return h, reading("body_base64", err)
	case len(raw) > 0 && raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		h.Body = Text(s)
		return h, reading("body", err)
	default:
		h.Body = jsonOrNone(raw)
	}
	return h, nil
}

func (w Work) wire() (wire.WorkInput, error) {
	args, err := w.Args.args()
	return wire.WorkInput{Kind: w.Kind, Args: args}, err
}

func work(in wire.WorkInput) Work { return Work{Kind: in.Kind, Args: jsonOrNone(in.Args)} }

// jsonOrNone returns the body of a JSON value, which is none for null.
func jsonOrNone(raw json.RawMessage) Body {
	if len(raw) == 0 || string(raw) == "null" {
		return Body{}
	}
	return Body{kind: jsonBody, data: raw}
}

// reading adds to err the kind of value that could not be read.
func reading(kind string, err error) error {
	if err != nil {
		err = fmt.Errorf("read a %s: %w", kind, err)
	}
	return err
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}
