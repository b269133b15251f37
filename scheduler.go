package foliot

import (
	"context"
	"iter"
	"time"
)

// Scheduler accepts tasks, which the methods of a Kind create in it. It is a
// *Node of this process, or the result of foliot/remote.New for a Node of
// another process. Several goroutines can use a Scheduler at the same time.
//
// A program can wrap a Scheduler, because all methods are exported. A later
// version may add methods, so a type that does this should embed a Scheduler. The
// methods of a Kind call only CreateMany, PutMany and Schedule. For tests, see
// foliottest.
//
// Each method can return ErrUnavailable, also if ctx ends before the reply.
// Then the call may have been applied, and can be repeated.
type Scheduler interface {
	// CreateMany creates any number of tasks, each one independently, as Kind.In
	// does, and writes up to a thousand of them at once, so it is far faster than
	// single calls. Result i is that of item i, and the results are always complete.
	// The error is the first ErrUnavailable or ErrClosed among them, or that of ctx. If
	// it is nil, items can still have failed: see each Result.Err.
	CreateMany(ctx context.Context, items []Item) ([]Result, error)
	// PutMany is CreateMany that replaces tasks, as Kind.Put does. The names must
	// differ, because the tasks are put in no particular order.
	PutMany(ctx context.Context, items []Item) ([]Result, error)
	// CancelMany cancels tasks as Cancel does, with results as those of CreateMany.
	CancelMany(ctx context.Context, names []string) ([]CancelResult, error)

	// Move changes the due time of a task that waits; a dead task has ended, so
	// see Retry. Errors: ErrNotFound, ErrRunning, ErrEnded.
	Move(ctx context.Context, name string, w When) (Info, error)
	// Touch restarts the delay of a task that was created with one: the task is
	// due that delay from now, with all its attempts again. Errors: ErrNotFound,
	// ErrRunning, ErrEnded, and ErrNoDelay if the task was created with a time.
	Touch(ctx context.Context, name string) (Info, error)
	// Cancel cancels a task. Errors: ErrNotFound, and ErrEnded if the task was
	// delivered or has expired.
	Cancel(ctx context.Context, name string) (Cancelled, error)
	// Retry makes a dead task due now, with all its attempts again. Errors:
	// ErrNotFound, and ErrNotDead if the task is in another state.
	Retry(ctx context.Context, name string) (Info, error)
	// Get returns a task, or ErrNotFound.
	Get(ctx context.Context, name string) (Info, error)
	// List returns the tasks that f selects, page by page, in no particular order.
	// An error is the last element. A task that changes during the list may be
	// missing, or be returned as it was before.
	List(ctx context.Context, f Filter) iter.Seq2[Info, error]

	// Schedule creates a schedule, or changes it. Its name and its tasks are those
	// of item, whose due time is ignored: see Kind.Schedule.
	Schedule(ctx context.Context, r Rule, item Item) error
	// Unschedule deletes a schedule, but the tasks that it has created stay. It
	// returns ErrNotFound if there is no such schedule.
	Unschedule(ctx context.Context, name string) error

	// Queues returns the queues, with their limits and the number of their tasks.
	Queues() Queues
}

// Result is the result of one item of CreateMany or PutMany: Err, or the task.
type Result struct {
	Info Info
	Err  error
}

// Cancelled is the result of a cancel.
type Cancelled struct {
	// UnderWay means that a handler runs, or may be about to start. Its context
	// ends with ErrCancelled, and no further attempt follows. If UnderWay is false,
	// no handler of the task runs, and none will start.
	UnderWay bool
	Already  bool // the task was cancelled before
}

// CancelResult is the result of one name of CancelMany: Err, or what Cancel
// returns.
type CancelResult struct {
	Cancelled Cancelled
	Err       error
}

// Filter selects tasks, which must match all fields that are set.
type Filter struct {
	Kind     string // List reads the tasks of all kinds, so set Queue or Prefix too
	Queue    string
	Prefix   string            // the beginning of the name
	States   []State           // any of them
	Labels   map[string]string // all of them
	Schedule string            // the schedule that created the task
	Reason   string            // Info.Reason
	// Exclusive bounds of Info.Due, which retries do not move, and of the time at
	// which the task has ended. Zero: no bound.
	DueAfter, DueBefore, EndedAfter, EndedBefore time.Time
}

// Queues returns and changes the queues of a Scheduler. A queue exists if it has
// tasks, or if its settings were changed. Errors are an *Error, as those of a
// Scheduler. On a shared store, a change waits up to two seconds until all processes
// have applied it. If some have not, the error is ErrUnavailable and names them.
// A later version may add methods here too.
type Queues interface {
	// Get returns a queue, or ErrNotFound if it has neither tasks nor settings.
	Get(ctx context.Context, name string) (Queue, error)
	// List returns the queues in the order of their names. An error is the last
	// element.
	List(ctx context.Context) iter.Seq2[Queue, error]
	// Set sets all limits of a queue, for all processes together, and leaves its
	// other settings. They apply at once, while running handlers go on.
	Set(ctx context.Context, name string, l QueueLimits) error
	// Pause stops a queue until Resume, or until a time if that is not zero: no
	// handler starts, while running handlers go on, and tasks are accepted.
	Pause(ctx context.Context, name string, until time.Time) error
	// Resume ends a pause.
	Resume(ctx context.Context, name string) error
}

// Queue is a copy of a queue.
type Queue struct {
	Name string
	QueueLimits
	Paused      bool
	PausedUntil time.Time       // zero: until Resume
	Tasks       map[State]int64 // the number of tasks in each state that has any
}

// QueueLimits are the limits of a queue, where zero means no limit.
type QueueLimits struct {
	Rate           float64 // attempts that start in a second
	Burst          int     // attempts that start at once after an idle time; 0: those of a second, at least one
	Concurrency    int     // attempts that run at once
	PerDestination int     // attempts that run at once to one host and port, or of one kind
}
