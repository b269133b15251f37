package foliot

import (
	"context"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// Scheduler accepts tasks, which the methods of a Kind create in it. It is a
// *Node of this process, or the result of Remote for a Node of another process.
// Several goroutines can use a Scheduler at the same time.
//
// Each method can return ErrUnavailable, also if ctx ends before the reply.
// Then the call may have been applied, and can be repeated.
type Scheduler interface {
	// Move changes the due time of a task that waits; a dead task has ended, so
	// see Retry. Errors: ErrNotFound, ErrRunning, ErrEnded.
	Move(ctx context.Context, name string, w When) (Info, error)
	// Touch restarts the delay of a task that was created with one: the task is
	// due that delay from now, with all its attempts again. Errors: ErrNotFound,
	// ErrRunning, ErrEnded, and ErrNoDelay if the task was created with a time.
	Touch(ctx context.Context, name string) (Info, error)
	// Cancel cancels a task. If pending is true, no handler of the task runs,
	// and none will start; otherwise a handler runs or may be about to start,
	// but its context ends with ErrCancelled, and no further attempt follows.
	// Errors: ErrNotFound, and ErrEnded if the task was delivered or has
	// expired.
	Cancel(ctx context.Context, name string) (pending bool, err error)
	// Retry makes a dead task due now, with all its attempts again. Errors:
	// ErrNotFound, and ErrNotDead if the task is in another state.
	Retry(ctx context.Context, name string) (Info, error)
	// Get returns a task, or ErrNotFound.
	Get(ctx context.Context, name string) (Info, error)
	// Unschedule deletes a schedule, but the tasks that it has created stay. It
	// returns ErrNotFound if there is no such schedule.
	Unschedule(ctx context.Context, name string) error

	create(ctx context.Context, r *request, replace bool) (Info, error)
	schedule(ctx context.Context, r *request, rule recurrence.Rule) error
}
