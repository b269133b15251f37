package api

import (
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// CheckNamespace reads the settings of a namespace as the body of a PUT. Its error
// is the *task.FieldError with which a server would refuse them. With the
// functions below, a command checks files before it changes anything.
func CheckNamespace(name string, body []byte) error {
	n := settings.NamespaceSettings{Name: name}
	err := document(body, func(r *reader) error { return r.decodeNamespace(&n, new(*string)) })
	if err != nil {
		return err
	}
	return n.Validate()
}

// CheckQueue is CheckNamespace for a queue. It also returns the settings.
func CheckQueue(name string, body []byte) (*settings.QueueSettings, error) {
	q := &settings.QueueSettings{Name: name}
	err := document(body, func(r *reader) error { return r.decodeQueue(q, new(*string)) })
	if err != nil {
		return q, err
	}
	return q, q.Validate()
}

// CheckSchedule is CheckNamespace for a schedule. queue returns the settings of the
// queue of its tasks, nil if it has none.
func CheckSchedule(name string, body []byte, queue func(name string) *settings.QueueSettings, now task.Millis) error {
	s := newSchedule(task.Key{Namespace: task.DefaultNamespace, Name: name})
	defaults := func(name string) task.Spec {
		if q := queue(name); q != nil {
			return q.Spec()
		}
		return task.DefaultSpec()
	}
	err := document(body, func(r *reader) error { return r.decodeSchedule(&s, defaults, task.MaxBody) })
	if err != nil {
		return err
	}
	return s.Validate(now)
}
