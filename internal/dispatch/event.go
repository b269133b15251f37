package dispatch

import (
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Event is one attempt and its settlement.
type Event struct {
	Claimed *task.Task // as the attempt began; its Attempts is the attempt's number
	Outcome task.Outcome
	After   *task.Task // after the settlement; nil if the lease was lost and nothing was changed
}

// observe calls Observe with each settled attempt.
func (d *Dispatcher) observe(batch []*attempt, replies []store.Reply) {
	if d.config.Observe == nil {
		return
	}
	for i, a := range batch {
		e := Event{Claimed: a.task, Outcome: a.outcome}
		if replies[i].Err == nil {
			e.After = replies[i].Task
		}
		d.config.Observe(e)
	}
}
