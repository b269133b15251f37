package settings

import (
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// t0 is the start of every test.
const t0 task.Millis = 1_800_000_000_000

const minute task.Millis = 60_000

var policy = task.Policy{KeepFinished: time.Hour, KeepDead: 30 * time.Hour}

var facts = task.Facts{Policy: policy}

// demand is a valid spec that is due a minute after t0.
func demand() task.Spec {
	return tasktest.Spec("a", t0, tasktest.Text("body"), func(s *task.Spec) { s.When = task.When{Relative: true, Delay: time.Minute} })
}

// apply makes a change that must succeed.
func apply(t *testing.T, now task.Millis, old *task.Task, c task.Change) *task.Task {
	t.Helper()
	r, err := c.Apply(now, old, facts)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	return r.Task
}

func create(t *testing.T) *task.Task {
	t.Helper()
	return apply(t, t0, nil, task.Create{Spec: demand()})
}

// edit makes an edit that must succeed.
func edit(t *testing.T, now task.Millis, s *Settings, e Edit) *Settings {
	t.Helper()
	changes, err := e.Apply(now, s)
	if err != nil {
		t.Fatalf("%T: %v", e, err)
	}
	return s.With(changes...)
}

// refused makes an edit that must fail with an error of type E.
func refused[E error](t *testing.T, now task.Millis, s *Settings, e Edit) E {
	t.Helper()
	changes, err := e.Apply(now, s)
	var want E
	if !errors.As(err, &want) || changes != nil {
		t.Errorf("%+v: changes %v, error %v, want a %T", e, changes, err, want)
	}
	return want
}
