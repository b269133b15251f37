package client

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// This file converts tasks and schedules to the types of the API and back, where
// more than the names of fields differs.

func (s Spec) MarshalJSON() ([]byte, error) {
	in, err := s.wire()
	if err != nil {
		return nil, err
	}
	return convert.Marshal(&in)
}

func (s *Spec) UnmarshalJSON(data []byte) error { return convert.Read(data, s, readSpec) }

func (s Spec) wire() (wire.TaskInput, error) {
	in := wire.TaskInput{FirstAttemptAt: convert.Instant(s.FirstAttempt), Traceparent: s.Parent}
	err := codec.Convert(&in, &s, "FirstAttemptAt", "Traceparent")
	if in.At == "" {
		in.At = s.Local
	}
	if in.At == "" && in.Delay == "" {
		in.Delay = "0s"
	}
	return in, err
}

func readSpec(in *wire.TaskInput) (s Spec, err error) {
	if in.TimeZone != "" {
		s.Local, in.At = in.At, ""
	}
	if err = codec.Convert(&s, in, "FirstAttempt", "Parent", "Local"); err == nil {
		s.FirstAttempt, err = convert.ReadInstant(in.FirstAttemptAt)
	}
	s.Parent = in.Traceparent
	return s, err
}

func (t Task) MarshalJSON() ([]byte, error) {
	var shown wire.Task
	t.Spec = t.Spec.shown()
	if err := codec.Convert(&shown, &t, "FirstAttemptAt"); err != nil { // only a request has it
		return nil, err
	}
	if shown.At == "" && shown.Delay == "" {
		shown.Delay = "0s"
	}
	return convert.Marshal(&shown)
}

func (t *Task) UnmarshalJSON(data []byte) error {
	var w wire.Task
	if err := convert.Unmarshal(data, &w); err != nil {
		return err
	}
	return t.read(&w)
}

// read fills t from a reply. A zero value means the same in both.
func (t *Task) read(w *wire.Task) error {
	*t = Task{}
	plan := codec.Plan(reflect.TypeFor[Task](), reflect.TypeFor[wire.Task](), "FirstAttempt", "Parent", "Local", "TimeZone") // only a request has them
	err := plan.Merge(reflect.ValueOf(t).Elem(), reflect.ValueOf(w).Elem())
	t.ExpireAfter, t.OnDead = cmp.Or(t.ExpireAfter, Forever), cmp.Or(t.OnDead, NoDeadNotice)
	return err
}

// shown returns the spec as a reply has it. There an absent value means that there
// is none, because the server has applied the defaults.
func (s Spec) shown() Spec {
	if s.ExpireAfter == Forever {
		s.ExpireAfter = 0
	}
	if s.OnDead == NoDeadNotice {
		s.OnDead = DeadNotice{}
	}
	return s
}

func (s ScheduleSpec) MarshalJSON() ([]byte, error) {
	var in wire.ScheduleInput
	if err := codec.Convert(&in, s.anchored(), "Runs"); err != nil {
		return nil, err
	}
	if s.SetRuns != 0 {
		in.Runs = &s.SetRuns
	}
	return convert.Marshal(&in)
}

func (s *ScheduleSpec) UnmarshalJSON(data []byte) error {
	return convert.Read(data, s, func(in *wire.ScheduleInput) (s ScheduleSpec, err error) {
		err = codec.Convert(&s, in, "SetRuns")
		if in.Runs != nil {
			s.SetRuns = *in.Runs
		}
		return s, err
	})
}

func (s Schedule) MarshalJSON() ([]byte, error) {
	s.ScheduleSpec = s.anchored()
	s.Task = s.Task.shown()
	return encode[wire.Schedule](s)
}

func (s *Schedule) UnmarshalJSON(data []byte) error {
	return convert.Read(data, s, func(w *wire.Schedule) (s Schedule, err error) {
		err = codec.Convert(&s, w, "SetRuns") // a reply has Runs instead
		s.Task.ExpireAfter, s.Task.OnDead = cmp.Or(s.Task.ExpireAfter, Forever), cmp.Or(s.Task.OnDead, NoDeadNotice)
		return s, err
	})
}

// anchored returns the spec without an Anchor that its rule does not use.
func (s ScheduleSpec) anchored() ScheduleSpec {
	if s.Every == 0 || !s.Start.IsZero() {
		s.Anchor = time.Time{}
	}
	return s
}

// scheduled returns the template of the tasks of a schedule.
func (s Spec) scheduled() (task wire.ScheduledTask, err error) {
	plan := codec.Plan(reflect.TypeFor[Spec](), reflect.TypeFor[wire.ScheduledTask]())
	for _, name := range plan.Missing { // fields that a template does not have
		if field := reflect.ValueOf(s).FieldByName(name); !field.IsZero() && !(name == "At" && s.At.IsZero()) {
			return task, errors.New("the task of a schedule must not have a name, time, delay or parent: the schedule sets them")
		}
	}
	err = codec.Convert(&task, s)
	return task, err
}

func readScheduled(task wire.ScheduledTask) (s Spec, err error) {
	err = codec.Plan(reflect.TypeFor[Spec](), reflect.TypeFor[wire.ScheduledTask]()).Copy(reflect.ValueOf(&s).Elem(), reflect.ValueOf(task))
	return s, err
}

// put sets the body of h so that the server sends the bytes of b.
func (b Body) put(h *wire.HTTPInput) (err error) {
	switch {
	case b.err != nil:
		return b.err
	case b.kind == jsonBody && b.asValue():
		h.Body = b.data
	case b.kind == jsonBody:
		h.BodyBase64 = new(base64.StdEncoding.EncodeToString(b.data))
		h.Headers = withContentType(h.Headers, "application/json")
	case b.kind == textBody:
		h.Body, err = convert.Marshal(string(b.data))
	case b.kind == binaryBody:
		h.BodyBase64 = new(base64.StdEncoding.EncodeToString(b.data))
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
