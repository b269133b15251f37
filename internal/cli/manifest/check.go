package manifest

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
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
		n := o.NamespaceSettings
		s := settings.NamespaceSettings{
			Name: o.Name, MaxPending: n.MaxPending, MaxBytes: n.MaxBytes, CreateRate: n.CreateRate, CreateBurst: n.CreateBurst,
			ChangeRate: n.ChangeRate, ReadRate: n.ReadRate, EditRate: n.EditRate,
		}
		return s.Validate()
	case Queue:
		s := storedQueue(o.Name, o.QueueSettings)
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

// storedQueue returns the settings of a queue in the form of the server.
func storedQueue(name string, q client.QueueSettings) settings.QueueSettings {
	s := settings.QueueSettings{
		Name: name, Rate: q.Rate, Burst: q.Burst, Concurrency: q.Concurrency, PerDestination: q.PerDestination,
		Timeout: q.Timeout, ExpireAfter: time.Duration(noLimit(q.ExpireAfter)), OnDead: q.OnDead, KeepFinished: q.KeepFinished, KeepDead: q.KeepDead,
	}
	r := q.Retry
	if r.MaxAttempts != 0 {
		s.Retry.MaxAttempts = new(attempts(r.MaxAttempts))
	}
	if r.MinBackoff != 0 {
		s.Retry.MinBackoff = &r.MinBackoff
	}
	if r.MaxBackoff != 0 {
		s.Retry.MaxBackoff = &r.MaxBackoff
	}
	if r.MaxAge != 0 {
		s.Retry.MaxAge = new(time.Duration(noLimit(r.MaxAge)))
	}
	return s
}

// attempts returns a limit in the form of the server, where 0 is no limit.
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
	s.Name, s.Queue, s.Labels = name, t.Queue, t.Labels
	s.Request = task.Request{URL: t.HTTP.URL, Method: t.HTTP.Method, Headers: t.HTTP.Headers, Kind: t.Work.Kind}
	s.Timeout, s.ExpireAfter, s.OnDead = t.Timeout, time.Duration(noLimit(t.ExpireAfter)), t.OnDead.URL()
	s.Retry = task.Retry{
		MaxAttempts: attempts(t.Retry.MaxAttempts), MinBackoff: t.Retry.MinBackoff, MaxBackoff: t.Retry.MaxBackoff, MaxAge: time.Duration(noLimit(t.Retry.MaxAge)),
	}
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
	s.Rule = recurrence.Rule{
		Cron: c.Cron, Zone: c.TimeZone, Every: c.Every, Start: millis(c.Start), End: millis(c.End), MaxRuns: c.MaxRuns, Jitter: c.Jitter,
		CatchupWindow: *c.CatchupWindow, CatchupLimit: c.CatchupLimit,
	}
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
