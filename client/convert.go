package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// This file converts the types of tasks to those of the API and back.

// MarshalJSON returns the spec as the API takes it.
func (s Spec) MarshalJSON() ([]byte, error) {
	in, err := s.wire()
	if err != nil {
		return nil, err
	}
	return marshal(in)
}

// UnmarshalJSON reads a spec as the API takes it.
func (s *Spec) UnmarshalJSON(data []byte) error {
	return read(data, s, (*decoder).spec)
}

// MarshalJSON returns the task as the API writes it.
func (t Task) MarshalJSON() ([]byte, error) {
	shown, err := t.wire()
	if err != nil {
		return nil, err
	}
	return marshal(&shown)
}

// UnmarshalJSON reads a task as the API writes it.
func (t *Task) UnmarshalJSON(data []byte) error {
	return read(data, t, (*decoder).task)
}

func (s Spec) wire() (wire.TaskInput, error) {
	in := wire.TaskInput{
		Name: s.Name, Queue: s.Queue,
		At: instant(s.At), Delay: duration(s.Delay),
		Timeout: duration(s.Timeout), ExpireAfter: limit(s.ExpireAfter),
		Priority: string(s.Priority), Labels: s.Labels, Retry: s.Retry.wire(), OnDead: s.OnDead.wire(),
		FirstAttemptAt: instant(s.FirstAttempt), Traceparent: s.Parent,
		HTTP: wire.HTTPInput{URL: s.HTTP.URL, Method: s.HTTP.Method, Headers: s.HTTP.Headers},
	}
	if in.At == "" && in.Delay == "" {
		in.Delay = "0s"
	}
	if err := s.HTTP.Body.put(&in.HTTP); err != nil {
		return in, err
	}
	in.Work.Kind = s.Work.Kind
	var err error
	in.Work.Args, err = s.Work.Args.args()
	return in, err
}

func (t Task) wire() (wire.Task, error) {
	in, err := t.Spec.wire()
	in.FirstAttemptAt, in.Traceparent = "", t.Traceparent // a reply has no FirstAttempt and Parent of a request
	shown := wire.Task{
		TaskInput: in,
		ID:        t.ID, State: string(t.State), Reason: t.Reason,
		DueAt: instant(t.DueAt), NextAt: instant(t.NextAt), Version: t.Version, CreatedAt: instant(t.CreatedAt), FinishedAt: instant(t.FinishedAt),
		CancelRequested: t.CancelRequested, UnderWay: t.UnderWay, Already: t.Already, Hidden: t.Hidden, BodySize: t.BodySize, Reclaims: t.Reclaims, AttemptsStarted: t.AttemptsStarted,
		Schedule: t.Schedule, Instant: instant(t.Instant), Authors: t.Authors.wire(),
		Attempts: make([]wire.Attempt, len(t.Attempts)), Durability: t.Durability,
	}
	if t.WaitsFor.Reason != "" {
		shown.WaitsFor = new(wire.WaitsFor)
		convert(shown.WaitsFor, t.WaitsFor)
	}
	for i, a := range t.Attempts {
		convert(&shown.Attempts[i], a)
	}
	return shown, err
}

func (a Authors) wire() wire.Authors {
	return wire.Authors{CreatedBy: a.CreatedBy, ChangedAt: instant(a.ChangedAt), ChangedBy: a.ChangedBy, ChangedAction: a.ChangedAction}
}

func (d *decoder) authors(w wire.Authors) Authors {
	return Authors{CreatedBy: w.CreatedBy, ChangedAt: d.instant(w.ChangedAt), ChangedBy: w.ChangedBy, ChangedAction: w.ChangedAction}
}

// wire returns the policy for the API, nil if no field is set.
func (r Retry) wire() *wire.Retry {
	if r == (Retry{}) {
		return nil
	}
	p := &wire.Retry{MinBackoff: duration(r.MinBackoff), MaxBackoff: duration(r.MaxBackoff), MaxAge: limit(r.MaxAge)}
	if n := r.MaxAttempts; n != 0 {
		p.MaxAttempts = new(n.wire())
	}
	return p
}

// put sets the body of h so that the server sends the bytes of b.
func (b Body) put(h *wire.HTTPInput) (err error) {
	switch {
	case b.err != nil:
		return b.err
	case b.kind == jsonBody && b.asValue():
		h.Body = b.data
	case b.kind == jsonBody:
		h.BodyBase64 = base64Of(b.data)
		h.Headers = withContentType(h.Headers, "application/json")
	case b.kind == textBody:
		h.Body, err = marshal(string(b.data))
	case b.kind == binaryBody:
		h.BodyBase64 = base64Of(b.data)
	}
	return err
}

// args returns the JSON of b for the API, nil if there are no arguments. Its
// error is an argsError.
func (b Body) args() (json.RawMessage, error) {
	switch {
	case b.err != nil:
		return nil, argsError{b.err}
	case b.kind == noBody || b.kind == jsonBody:
		return b.data, nil
	}
	return nil, argsError{errors.New("the arguments are not JSON: use client.JSON")}
}

// argsError is an error about the arguments of a handler.
type argsError struct{ error }

// badBody returns the refusal of a call whose body or arguments cannot be
// encoded.
func badBody(op string, err error) error {
	field := "http.body"
	if _, ok := errors.AsType[argsError](err); ok {
		field = "work.args"
	}
	return refused(op, "bad_body", field, err.Error())
}

func base64Of(b []byte) *string {
	s := base64.StdEncoding.EncodeToString(b)
	return &s
}

// withContentType returns headers with that content type, unless they have one.
func withContentType(headers map[string]string, media string) map[string]string {
	for name := range headers {
		if strings.EqualFold(name, "Content-Type") {
			return headers
		}
	}
	headers = maps.Clone(headers)
	if headers == nil {
		headers = map[string]string{}
	}
	headers["content-type"] = media
	return headers
}

// instant writes t for the API. It keeps fractions of a millisecond: the API
// rounds them up.
func instant(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Nanosecond()%int(time.Millisecond) != 0:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return wire.FormatTime(t)
}

// duration writes d for the API, "" for the default.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// limit writes d for the API, "" for the default.
func limit(d Duration) string {
	if d == 0 {
		return ""
	}
	return d.wire()
}

// window writes a duration for the API, "" for nil.
func window(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return d.String()
}

// decoder reads values of the API and keeps the first error.
type decoder struct{ err error }

func (d *decoder) spec(in wire.TaskInput) Spec {
	return Spec{
		Name: in.Name, Queue: in.Queue,
		At: d.instant(in.At), Delay: d.duration(in.Delay),
		Timeout: d.duration(in.Timeout), ExpireAfter: d.limit(in.ExpireAfter),
		Priority: Priority(in.Priority), Labels: in.Labels, Retry: d.retry(in.Retry), OnDead: deadNotice(in.OnDead),
		FirstAttempt: d.instant(in.FirstAttemptAt), Parent: in.Traceparent,
		HTTP: HTTP{URL: in.HTTP.URL, Method: in.HTTP.Method, Headers: in.HTTP.Headers, Body: d.body(in.HTTP)},
		Work: Work{Kind: in.Work.Kind, Args: args(in.Work.Args)},
	}
}

func (d *decoder) retry(w *wire.Retry) (r Retry) {
	if w == nil {
		return r
	}
	r = Retry{MinBackoff: d.duration(w.MinBackoff), MaxBackoff: d.duration(w.MaxBackoff), MaxAge: d.limit(w.MaxAge)}
	if w.MaxAttempts != nil {
		r.MaxAttempts = Limit(*w.MaxAttempts)
		if r.MaxAttempts == 0 {
			r.MaxAttempts = Unlimited
		}
	}
	return r
}

func (d *decoder) task(shown wire.Task) Task {
	t := Task{
		Spec: d.spec(shown.TaskInput),
		ID:   shown.ID, State: State(shown.State), Reason: shown.Reason,
		DueAt: d.instant(shown.DueAt), NextAt: d.instant(shown.NextAt), Version: shown.Version, CreatedAt: d.instant(shown.CreatedAt), FinishedAt: d.instant(shown.FinishedAt),
		CancelRequested: shown.CancelRequested, UnderWay: shown.UnderWay, Already: shown.Already, Hidden: shown.Hidden, BodySize: shown.BodySize, Reclaims: shown.Reclaims, AttemptsStarted: shown.AttemptsStarted, Traceparent: shown.Traceparent, Durability: shown.Durability,
		Schedule: shown.Schedule, Instant: d.instant(shown.Instant), Authors: d.authors(shown.Authors),
	}
	t.FirstAttempt, t.Parent = time.Time{}, "" // a reply has no FirstAttempt and Parent of a request
	for _, a := range shown.Attempts {
		t.Attempts = append(t.Attempts, Attempt{})
		d.convert(&t.Attempts[len(t.Attempts)-1], a)
	}
	if w := shown.WaitsFor; w != nil {
		d.convert(&t.WaitsFor, *w)
	}
	return t
}

func (d *decoder) body(h wire.HTTPInput) Body {
	switch {
	case h.BodyBase64 != nil:
		data, err := base64.StdEncoding.DecodeString(*h.BodyBase64)
		d.note("body_base64", err)
		if len(h.Body) > 0 && json.Valid(data) { // JSON bytes that a JSON value would not keep
			return Body{kind: jsonBody, data: data}
		}
		return Body{kind: binaryBody, data: data}
	case len(h.Body) == 0 || string(h.Body) == "null":
		return Body{}
	case h.Body[0] == '"':
		var s string
		d.note("body", json.Unmarshal(h.Body, &s))
		return Text(s)
	}
	return Body{kind: jsonBody, data: h.Body}
}

func args(raw json.RawMessage) Body {
	if len(raw) == 0 || string(raw) == "null" {
		return Body{}
	}
	return Body{kind: jsonBody, data: raw}
}

func (d *decoder) instant(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if y := t.UTC().Year(); err == nil && (y < 0 || y > 9999) {
		err = fmt.Errorf("%q is outside the years 0 to 9999 in UTC", s)
	}
	d.note("time", err)
	return t
}

func (d *decoder) duration(s string) time.Duration {
	if s == "" {
		return 0
	}
	v, err := time.ParseDuration(s)
	d.note("duration", err)
	return v
}

func (d *decoder) limit(s string) Duration {
	v := d.duration(s)
	if s != "" && v == 0 {
		return Forever
	}
	return Duration(v)
}

func (d *decoder) window(s string) *time.Duration {
	if s == "" {
		return nil
	}
	return new(d.duration(s))
}

func (d *decoder) note(kind string, err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("read a %s: %w", kind, err)
	}
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}
