package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// This file converts tasks and schedules to the types of the API and back, where
// more than the names of fields differs.

func (s Spec) MarshalJSON() ([]byte, error) {
	in, err := s.wire()
	if err != nil {
		return nil, err
	}
	return marshal(&in)
}

func (s *Spec) UnmarshalJSON(data []byte) error { return read(data, s, readSpec) }

func (s Spec) wire() (wire.TaskInput, error) {
	in := wire.TaskInput{FirstAttemptAt: instant(s.FirstAttempt), Traceparent: s.Parent}
	err := convert(&in, s, "FirstAttemptAt", "Traceparent")
	if in.At == "" && in.Delay == "" {
		in.Delay = "0s"
	}
	return in, err
}

func readSpec(in wire.TaskInput) (s Spec, err error) {
	if err = convert(&s, in, "FirstAttempt", "Parent"); err == nil {
		s.FirstAttempt, err = readInstant(in.FirstAttemptAt)
	}
	s.Parent = in.Traceparent
	return s, err
}

func (t Task) MarshalJSON() ([]byte, error) {
	var shown wire.Task
	if err := convert(&shown, t, "FirstAttemptAt"); err != nil { // only a request has it
		return nil, err
	}
	if shown.At == "" && shown.Delay == "" {
		shown.Delay = "0s"
	}
	return marshal(&shown)
}

func (t *Task) UnmarshalJSON(data []byte) error {
	return read(data, t, func(w wire.Task) (t Task, err error) {
		err = convert(&t, w, "FirstAttempt", "Parent") // only a request has them
		return t, err
	})
}

func (s ScheduleSpec) MarshalJSON() ([]byte, error) {
	var in wire.ScheduleInput
	if err := convert(&in, s.settled(), "Runs"); err != nil {
		return nil, err
	}
	in.Runs = s.SetRuns
	return marshal(&in)
}

func (s *ScheduleSpec) UnmarshalJSON(data []byte) error {
	return read(data, s, func(in wire.ScheduleInput) (s ScheduleSpec, err error) {
		err = convert(&s, in, "SetRuns")
		s.SetRuns = in.Runs
		return s, err
	})
}

func (s Schedule) MarshalJSON() ([]byte, error) {
	s.ScheduleSpec = s.settled()
	return encode[wire.Schedule](s)
}

func (s *Schedule) UnmarshalJSON(data []byte) error {
	return read(data, s, func(w wire.Schedule) (s Schedule, err error) {
		err = convert(&s, w, "SetRuns") // a reply has Runs instead
		return s, err
	})
}

// settled returns the spec without an Anchor that its rule does not use.
func (s ScheduleSpec) settled() ScheduleSpec {
	if s.Every == 0 || !s.Start.IsZero() {
		s.Anchor = time.Time{}
	}
	return s
}

// fromTemplate are the types of a template of tasks, which has fewer fields.
var fromTemplate = pair{reflect.TypeFor[Spec](), reflect.TypeFor[wire.ScheduledTask]()}

// scheduled returns the template of the tasks of a schedule.
func (s Spec) scheduled() (task wire.ScheduledTask, err error) {
	for _, name := range planOf(fromTemplate).Missing {
		if field := reflect.ValueOf(s).FieldByName(name); !field.IsZero() && !(name == "At" && s.At.IsZero()) {
			return task, errors.New("the task of a schedule must not have a name, time, delay or parent: the schedule sets them")
		}
	}
	err = convert(&task, s)
	return task, err
}

func readScheduled(task wire.ScheduledTask) (s Spec, err error) {
	err = planOf(fromTemplate).Copy(reflect.ValueOf(&s).Elem(), reflect.ValueOf(task))
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
