package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire/fields"
)

// check returns the errors with which a server would refuse the objects, so
// that a command can report all of them before it changes anything. A schedule
// has the defaults of its queue if the queue is among the objects.
func check(objects []Object) error {
	queues := map[Key]client.QueueSettings{}
	var errs []error
	now := task.CeilMillis(time.Now())
	for i := range objects {
		o := &objects[i]
		if o.Kind == Queue {
			queues[o.Key] = o.QueueSettings
		}
		var invalid *task.FieldError
		switch err := o.validate(queues[o.QueueKey()], now); {
		case err == nil:
		case errors.As(err, &invalid):
			errs = append(errs, o.Errorf(invalid.Path, "%s", invalid.Detail))
		default:
			errs = append(errs, o.Errorf("", "%v", err))
		}
	}
	return errors.Join(errs...)
}

// validate returns the *task.FieldError with which a server would refuse the
// object, or nil.
func (o *Object) validate(queue client.QueueSettings, now task.Millis) error {
	switch o.Kind {
	case Namespace:
		s := settings.NamespaceSettings{Name: o.Name}
		fill(&s, &o.NamespaceSettings)
		return s.Validate()
	case Queue:
		s := settings.QueueSettings{Name: o.Name}
		fill(&s, &o.QueueSettings)
		return s.Validate()
	}
	s, err := storedSchedule(o.Name, o.Complete(queue).ScheduleSpec)
	if err != nil {
		return err
	}
	return s.Validate(now)
}

// CheckSchedule returns the *task.FieldError with which a server would refuse
// the schedule, or nil.
func CheckSchedule(name string, spec client.ScheduleSpec, now task.Millis) error {
	o := Object{Key: Key{Kind: Schedule, Name: name}, ScheduleSpec: spec}
	return o.validate(client.QueueSettings{}, now)
}

// fill sets the fields of the server's form of a value that the client's form has
// too.
func fill[T, F any](to *T, from *F) {
	plan := fields.New(reflect.TypeFor[T](), reflect.TypeFor[F](), stored)
	_ = plan.Copy(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()) // no conversion can fail
}

// stored converts values of the client to those of the server, where 0 is no limit,
// and a nil pointer the server's default.
var stored = fields.Rules(
	fields.Convert(attempts), fields.Convert(age), fields.Convert(millis), fields.Convert(client.DeadNotice.URL),
	fields.Convert(func(d time.Duration) *time.Duration { return unlessZero(d, d) }),
	fields.Convert(func(d client.Duration) *time.Duration { return unlessZero(d, age(d)) }),
	fields.Convert(func(n client.Limit) *int { return unlessZero(n, attempts(n)) }),
)

func unlessZero[F comparable, T any](from F, to T) *T {
	if from == *new(F) {
		return nil
	}
	return &to
}

func age(d client.Duration) time.Duration { return time.Duration(noLimit(d)) }

func attempts(n client.Limit) int {
	if n == client.Unlimited {
		return 0
	}
	return int(n)
}

// storedSchedule returns a complete schedule in the form of the server. Its
// error is a *task.FieldError.
func storedSchedule(name string, c client.ScheduleSpec) (s task.ScheduleSpec, err error) {
	t := c.Task
	s.Spec = task.DefaultSpec()
	fill(&s.Spec, &t)
	s.Name = name
	s.Request = task.Request{URL: t.HTTP.URL, Method: t.HTTP.Method, Headers: t.HTTP.Headers, Kind: t.Work.Kind}
	switch {
	case len(t.HTTP.Body.Bytes()) > task.MaxBody:
		return s, tooLarge("task.http.body")
	case len(t.Work.Args.Bytes()) > task.MaxBody:
		return s, tooLarge("task.work.args")
	case t.HTTP.URL == "" && t.Work.Kind == "":
		return s, &task.FieldError{Path: "task", Code: "required", Detail: "a task needs http.url, the URL to call, or work.kind, the kind of its handler"}
	case t.HTTP.URL != "" && t.Work.Kind != "":
		return s, &task.FieldError{Path: "task.http", Code: "conflict", Detail: "cannot be combined with work: a task is a request or a call of a handler"}
	case c.Every != 0 && c.Cron == "" && (c.DSTGap != "" || c.DSTOverlap != ""):
		return s, &task.FieldError{Path: "every", Code: "conflict", Detail: "cannot be combined with dst_gap or dst_overlap: every does not depend on a time zone"}
	}
	if c.Cron != "" {
		if _, err := cron.Parse(c.Cron); err != nil {
			return s, &task.FieldError{Path: "cron", Code: "bad_cron", Detail: err.Error()}
		}
	}
	fill(&s.Rule, &c)
	s.Rule.Zone = c.TimeZone
	return s, nil
}

func tooLarge(path string) error {
	return &task.FieldError{Path: path, Code: "too_large", Detail: fmt.Sprintf("must have at most %d bytes, and no more than --body-limit of the server", task.MaxBody)}
}

func millis(t time.Time) task.Millis {
	if t.IsZero() {
		return 0
	}
	return task.CeilMillis(t)
}
