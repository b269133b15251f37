package api

import "github.com/foliot/foliot/internal/task"

// endedStates are the states that a list in the order of ends can have.
var endedStates = []task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}

// endedOnly restricts f to tasks that have ended, and fails if f selects
// others.
func (f *listFilter) endedOnly() error {
	if len(f.States) == 0 {
		f.States = endedStates
	}
	for _, state := range f.States {
		if state.Live() {
			return refuse("bad_parameter", "state", "order=ended lists only delivered, cancelled, expired and dead tasks: leave state out, or name some of these states")
		}
	}
	return nil
}
