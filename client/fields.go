package client

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// codec converts the types of this package to those of the API and back. An init
// function sets it, because the conversion of a template uses it too.
var codec *convert.Codec

func init() {
	codec = convert.New(
		fields.Convert(window), fields.Parse(readWindow),
		fields.Convert(limit), fields.Parse(readLimit),
		fields.Convert(Limit.pointer), fields.Convert(attempts),
		fields.Convert(DeadNotice.wire), fields.Convert(deadNotice),
		fields.Parse(HTTP.wire), fields.Parse(readHTTP),
		fields.Parse(Work.wire), fields.Convert(work),
		fields.Parse(Spec.scheduled), fields.Parse(readScheduled),
	)
}

// encode returns v as JSON of the API's type W.
func encode[W any](v any) ([]byte, error) { return convert.Encode[W](codec, v) }

// decode reads JSON of the API's type W into v.
func decode[W, T any](data []byte, v *T) error { return convert.Decode[W](codec, data, v) }

// window writes a duration for the API, "" for nil.
func window(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return timespan.Text(*d)
}

func readWindow(s string) (*time.Duration, error) {
	if s == "" {
		return nil, nil
	}
	d, err := convert.ReadDuration(s)
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
	d, err := convert.ReadDuration(s)
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
	return new(l.wire())
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
		return h, convert.Reading("body_base64", err)
	case len(raw) > 0 && raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		h.Body = Text(s)
		return h, convert.Reading("body", err)
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
