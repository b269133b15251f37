package foliot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// The errors of a Scheduler, for errors.Is. They are the Err of an Error. After
// ErrUnavailable the call may have been applied. If the context of a call ends
// before the reply, the error wraps both ErrUnavailable and the error of the
// context.
var (
	ErrNotFound    = errors.New("no such task, schedule or queue")
	ErrExists      = errors.New("a task with that name exists")
	ErrRunning     = errors.New("the task is running")
	ErrEnded       = errors.New("the task has ended")
	ErrNotDead     = errors.New("the task is not dead")
	ErrNoDelay     = errors.New("the task was created with a time, not with a delay")
	ErrInvalid     = errors.New("a value is not valid")
	ErrUnavailable = errors.New("the store cannot be reached, or refuses writes")
	ErrFull        = errors.New("the store accepts no new tasks")
	ErrQuota       = errors.New("the namespace has reached a quota")
	ErrSuspended   = errors.New("the namespace is suspended")
	ErrClosed      = errors.New("the node is closed")
)

// These are the causes (context.Cause) with which the context of a handler
// ends. After the Timeout of the task, the cause is context.DeadlineExceeded.
// Two rare causes have no name: this process lost its share of a queue's limit
// on a Redis, or a task that may crash the process must run alone. After
// ErrStopping, ErrLeaseLost and the rare causes, the task is due again, and the
// attempt does not count.
var (
	// ErrCancelled means that the task was cancelled.
	ErrCancelled = dispatch.ErrCancelled
	// ErrStopping means that Run is ending, and Options.Grace has passed.
	ErrStopping = dispatch.ErrStopped
	// ErrLeaseLost means that this process could not reach the store for so long
	// that another process may start the task. It is an error of postgres.Complete
	// too.
	ErrLeaseLost = dispatch.ErrLeaseLost
)

// Error is the error of a call, which a Scheduler that wraps another one, or
// replaces it in a test, can return too.
type Error struct {
	Noun string // "task", "schedule" or "queue"
	Name string // of the task, schedule or queue; "" if the call is about several
	// Err is one of the errors above, where ErrUnavailable is joined with its
	// cause, or another error of the store.
	Err    error
	Detail string // the failure, and the remedy if there is one
}

// Error returns the noun, the name and the detail.
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Noun + "s: " + e.Detail
	}
	return fmt.Sprintf("%s %q: %s", e.Noun, e.Name, e.Detail)
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// The nouns of an Error.
const (
	ofTask     = "task"
	ofSchedule = "schedule"
	ofQueue    = "queue"
)

// invalid returns an error that translate makes an ErrInvalid.
func invalid(format string, args ...any) error {
	return &task.FieldError{Detail: fmt.Sprintf(format, args...)}
}

// translate returns err as an *Error about a task, schedule or queue, and nil if
// err is nil.
func translate(noun, name string, err error) error {
	var state *task.StateError
	var field *task.FieldError
	var missing *settings.MissingError
	var busy *settings.BusyError
	var quota *task.QuotaError
	if err == nil {
		return nil
	}
	kind, detail := err, err.Error()
	switch {
	case errors.Is(err, task.ErrNotFound):
		kind, detail = ErrNotFound, "no such "+noun
	case errors.As(err, &missing):
		kind = ErrNotFound
	case errors.Is(err, task.ErrExists):
		kind = ErrExists
	case errors.As(err, &state):
		kind = kindOfState(state.Code)
	case errors.As(err, &field):
		kind = ErrInvalid
	case errors.Is(err, task.ErrFull), errors.As(err, &busy):
		kind = ErrFull
	case errors.As(err, &quota):
		kind = ErrQuota
	case errors.Is(err, task.ErrSuspended):
		kind = ErrSuspended
	case errors.Is(err, task.ErrClosed) && !errors.Is(err, task.ErrStopped):
		kind = ErrClosed
	case errors.Is(err, task.ErrStopped), errors.Is(err, task.ErrUnavailable), errors.Is(err, task.ErrNotDurable), endOfContext(err):
		kind = errors.Join(ErrUnavailable, err)
	}
	return &Error{noun, name, kind, detail}
}

// notOpened adds to an error of Open the kind that translate finds.
func notOpened(err error) error {
	if e, is := translate(ofTask, "", err).(*Error); is && e.Err != err { //nolint:errorlint // translate returns no other
		return openError{err, e.Err}
	}
	return err
}

// openError is an error with a kind.
type openError struct {
	error

	kind error
}

func (e openError) Unwrap() []error { return []error{e.error, e.kind} }

// endOfContext reports whether err is, or wraps, the error of a context.
func endOfContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
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
	outcome task.Outcome // has a Verdict, and a RetryAfter if Exact is set
	err     error
}

func (r *result) Error() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.outcome.Verdict == task.Snooze:
		return "snoozed for " + r.outcome.RetryAfter.String()
	}
	return "failed"
}

func (r *result) Unwrap() error { return r.err }

// Dead returns a result for a handler: the task is dead, and no attempt follows
// unless Retry starts it again. The task stays in the store with the text of err
// for Options.KeepDead.
func Dead(err error) error {
	return &result{task.Outcome{Verdict: task.Refusal, Reason: task.ReasonNoRetry}, err}
}

// RetryIn returns a result for a handler that failed with err: the next attempt
// starts after d, at least 1s, instead of after the backoff, and this attempt
// counts.
func RetryIn(d time.Duration, err error) error {
	return &result{task.Outcome{Verdict: task.Failure, Exact: true, RetryAfter: bounded(d)}, err}
}

// Snooze returns a result for a handler that moves its task: the task is due
// after d, at least 1s, and this attempt does not count.
func Snooze(d time.Duration) error {
	return &result{task.Outcome{Verdict: task.Snooze, Exact: true, RetryAfter: bounded(d)}, nil}
}

// leastWait is the shortest wait that a handler can choose: a handler that
// always returns Snooze(0) would run without a pause. It is the shortest wait
// after a Retry-After, if the task sets no Backoff.
const leastWait = task.DefaultMinBackoff

// bounded returns d, limited to the range from leastWait to task.MaxDelay.
func bounded(d time.Duration) time.Duration { return min(max(d, leastWait), task.MaxDelay) }
