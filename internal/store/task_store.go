package store

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// TaskStore is the part of a store that the API uses.
type TaskStore interface {
	Steps

	// Get returns the task with its body. Errors: ErrNotFound.
	Get(ctx context.Context, key task.Key) (*task.Task, error)

	// List returns one page of the tasks of f.Namespace that match f, in the
	// order of their names, examining at most MaxPageExamined records. With
	// page.ByEnd, f.States must have only states of ended tasks, at least one.
	List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error)

	// Due counts scheduled tasks by their due times, in all shards. It calls
	// found one call at a time, before it returns, and possibly several times
	// for the same lane and interval. All tasks that are due before exact were
	// counted: exact is r.End, or an earlier time if the budget was used up. Of
	// the tasks due later, only some were counted. A task that changes during
	// the read may be missing or counted twice.
	Due(ctx context.Context, r DueRead, found DueFound) (exact task.Millis, err error)

	// Upcoming returns waiting records in the order of their due times, without
	// claiming any. In a shared store it reads the shards of all nodes.
	Upcoming(ctx context.Context, read UpcomingRead) (task.Upcoming, error)
}

// UpcomingRead requests the records that wait, and are due from From until
// Until, both included. Until is at most task.Never. A call reads at
// least eight thousand lanes that have earlier records than From, and ends the
// page there if there are more.
type UpcomingRead struct {
	Namespace   string // empty means all namespaces
	Queue       string // empty means all queues except ScheduleQueue
	From, Until task.Millis
	Limit       int
}

// Selects reports whether the read includes the tasks of a lane.
func (r *UpcomingRead) Selects(l task.Lane) bool {
	if r.Queue == "" && l.Queue == task.ScheduleQueue {
		return false
	}
	return (r.Namespace == "" || l.Namespace == r.Namespace) && (r.Queue == "" || l.Queue == r.Queue)
}
