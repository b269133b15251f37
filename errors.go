package foliot

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/task"
)

// The errors of a Scheduler, for errors.Is.
var (
	ErrNotFound    = errors.New("no such task")
	ErrExists      = errors.New("a task with that name exists")
	ErrRunning     = errors.New("the task is running")
	ErrEnded       = errors.New("the task has ended")
	ErrNotDead     = errors.New("the task is not dead")
	ErrNoDelay     = errors.New("the task was created with a time, not with a delay")
	ErrInvalid     = errors.New("a value is not valid")
	ErrUnavailable = errors.New("the store cannot be reached now")
	ErrFull        = errors.New("the store accepts no new tasks")
	ErrClosed      = errors.New("the node is closed")
)

// The causes (context.Cause) with which the context of a handler ends, besides
// context.DeadlineExceeded after the task's Timeout. In rare cases there is
// another cause: this process lost its share of a queue's limit on a Redis, or
// another task that may end the process has its turn. With each cause except
// ErrCancelled the task is due again, and the attempt does not count.
var (
	// ErrCancelled: the task was cancelled.
	ErrCancelled = dispatch.ErrCancelled
	// ErrStopping: Run is ending, and its grace period is over.
	ErrStopping = dispatch.ErrStopped
	// ErrLeaseLost: the store could not be reached for so long that another
	// process may start the task.
	ErrLeaseLost = dispatch.ErrLeaseLost
)

// Error is the error of a call that the store has refused. It wraps one of the
// errors above.
type Error struct {
	Task   string // its name
	kind   error
	detail string
}

// Error returns the name of the task, the failure and the remedy.
func (e *Error) Error() string { return fmt.Sprintf("task %q: %s", e.Task, e.detail) }

// Unwrap returns one of the errors of this package.
func (e *Error) Unwrap() error { return e.kind }

// translate returns the error of a call about a task in the terms of this
// package.
func translate(name string, err error) error {
	var state *task.StateError
	var field *task.FieldError
	kind := err
	switch {
	case err == nil:
		return nil
	case errors.Is(err, task.ErrNotFound):
		kind = ErrNotFound
	case errors.Is(err, task.ErrExists):
		kind = ErrExists
	case errors.As(err, &state):
		kind = kindOfState(state.Code)
	case errors.As(err, &field):
		kind = ErrInvalid
	case errors.Is(err, task.ErrFull):
		kind = ErrFull
	case errors.Is(err, task.ErrClosed):
		kind = ErrClosed
	case errors.Is(err, task.ErrUnavailable), errors.Is(err, task.ErrNotDurable):
		kind = ErrUnavailable
	}
	return &Error{Task: name, kind: kind, detail: err.Error()}
}

func kindOfState(code string) error {
	switch code {
	case task.CodeRunning:
		return ErrRunning
	case task.CodeNoDelay:
		return ErrNoDelay
	case task.CodeNotDead:
		return ErrNotDead
	}
	return ErrEnded
}

// result is an error with which a handler decides how its task goes on.
type result struct {
	outcome task.Outcome // with a Verdict, and with RetryAfter if that is Exact
	err     error
}

func (r *result) Error() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.outcome.Verdict == task.Deferral:
		return "snoozed for " + r.outcome.RetryAfter.String()
	}
	return "failed"
}

func (r *result) Unwrap() error { return r.err }

// Dead returns the result of a handler after which no further attempt follows.
// The task stays in the store as dead, with err, and can be retried by hand.
func Dead(err error) error {
	return &result{task.Outcome{Verdict: task.Refusal, Reason: task.ReasonNoRetry}, err}
}

// RetryIn returns the result of a handler that failed with err: the next attempt
// follows after d, instead of after the backoff. It counts as an attempt.
func RetryIn(d time.Duration, err error) error {
	return &result{task.Outcome{Verdict: task.Failure, Exact: true, RetryAfter: bounded(d)}, err}
}

// Snooze returns the result of a handler that has moved its task: the task is
// due after d, and this attempt does not count.
func Snooze(d time.Duration) error {
	return &result{task.Outcome{Verdict: task.Deferral, Exact: true, RetryAfter: bounded(d)}, nil}
}

// bounded returns d within the limits of a delay.
func bounded(d time.Duration) time.Duration { return min(max(d, 0), task.MaxDelay) }
