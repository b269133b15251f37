package task

import "reflect"

// Adopt writes the record of a task that another store had, in any state.
type Adopt struct{ Task *Task } // with its body

// Apply returns the record, which replaces old unless they are equal.
func (a Adopt) Apply(_ Millis, old *Task, _ Facts) (Result, error) {
	if old != nil && reflect.DeepEqual(old.WithoutBody(), a.Task.WithoutBody()) {
		return Result{Task: old, Effect: Repeated}, nil
	}
	return Result{Task: a.Task, Effect: Created}, nil
}
