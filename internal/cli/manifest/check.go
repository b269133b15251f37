package manifest

import (
	"errors"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// check reads the settings of the objects as a server does, so that a command can
// report all errors before it changes anything. It returns the first error of
// each object. A schedule has the defaults of its queue if the queue is among the
// objects, which are in the order of their creation.
func check(objects []Object) error {
	queues := map[Key]*settings.QueueSettings{}
	var errs []error
	now := task.CeilMillis(time.Now())
	for i := range objects {
		o := &objects[i]
		var err error
		switch o.Kind {
		case Namespace:
			err = api.CheckNamespace(o.Name, o.json)
		case Queue:
			queues[o.Key], err = api.CheckQueue(o.Name, o.json)
		case Schedule:
			queue := func(name string) *settings.QueueSettings { return queues[Key{Queue, o.Namespace, name}] }
			err = api.CheckSchedule(o.Name, o.json, queue, now)
		}
		if err == nil {
			err = o.form().UnmarshalJSON(o.json)
		}
		var invalid *task.FieldError
		switch {
		case err == nil:
		case errors.As(err, &invalid) && strings.HasPrefix(invalid.Detail, "must be a string, not "):
			errs = append(errs, o.Errorf(invalid.Path, "%s: put the value in quotes", invalid.Detail))
		case errors.As(err, &invalid):
			errs = append(errs, o.Errorf(invalid.Path, "%s", invalid.Detail))
		default:
			errs = append(errs, o.Errorf("", "%v", err))
		}
	}
	return errors.Join(errs...)
}

// CheckSchedule returns the *task.FieldError with which a server would refuse the
// schedule, or nil.
func CheckSchedule(name string, spec client.ScheduleSpec, now task.Millis) error {
	body, err := spec.MarshalJSON()
	if err != nil {
		return err
	}
	return api.CheckSchedule(name, body, func(string) *settings.QueueSettings { return nil }, now)
}
