package foliot

import "context"

// Scheduler accepts tasks: a *Node in this process, or Remote for one
// elsewhere. The methods of a Kind create tasks and schedules in it.
//
// Each method can return ErrUnavailable: then it may have been applied, and can
// be repeated.
type Scheduler interface {
	// Move changes the due time of a task that waits. A dead task has ended: see
	// Retry. Errors: ErrNotFound, ErrRunning, ErrEnded.
	Move(ctx context.Context, name string, w When) (Info, error)
	// Touch makes a task that was created with a delay due that delay from now,
	// with all its attempts again. Errors: ErrNotFound, ErrRunning, ErrEnded,
	// ErrNoDelay.
	Touch(ctx context.Context, name string) (Info, error)
	// Cancel cancels a task. If pending is true, no handler of the task runs and
	// none will start. If it is false, a handler runs or may be about to run: its
	// context ends with ErrCancelled, and no further attempt follows. Errors:
	// ErrNotFound, and ErrEnded if the task was delivered or has expired.
	Cancel(ctx context.Context, name string) (pending bool, err error)
	// Retry makes a dead task due now, with all its attempts again. Errors:
	// ErrNotFound, and ErrNotDead if it waits, runs or has ended otherwise.
	Retry(ctx context.Context, name string) (Info, error)
	// Get returns a task. Errors: ErrNotFound.
	Get(ctx context.Context, name string) (Info, error)
	// Unschedule ends a schedule. The tasks that it has created stay. Errors:
	// ErrNotFound.
	Unschedule(ctx context.Context, name string) error

	create(ctx context.Context, r *request, replace bool) (Info, error)
	schedule(ctx context.Context, r *request, rule Rule) error
}
