package task

import (
	"errors"
	"fmt"
	"time"
)

// The errors of the contract. Stores return them, wrapped or bare, and
// translate their own errors into them. One table in internal/api maps them to
// HTTP.
var (
	// ErrNotFound: no record of that name.
	ErrNotFound = errors.New("no such task")
	// ErrExists: a create found a record of that name.
	ErrExists = errors.New("a task of that name exists")
	// ErrIdempotencyReuse: the Idempotency-Key was used for a different request.
	ErrIdempotencyReuse = errors.New("the idempotency key was used with another request")
	// ErrPrecondition: If-Match or If-None-Match does not hold.
	ErrPrecondition = errors.New("the task is not in the version that the precondition names")
	// ErrStale: the token no longer holds the task's lease, so the caller has
	// nothing to settle.
	ErrStale = errors.New("the lease is no longer held")
	// ErrNotDue: the task is due later than now, because it was moved.
	ErrNotDue = errors.New("the task is not due yet")
	// ErrLaneChanged: the task is in another lane than the claim names.
	ErrLaneChanged = errors.New("the task is in another lane")
	// ErrExpired: the claim found the task expired and finished it; no attempt starts.
	ErrExpired = errors.New("the task expired before an attempt could start")
	// ErrFull: the store refuses to take more.
	ErrFull = errors.New("the store is full")
	// ErrSuspended: the namespace takes nothing new, or its own token may only read.
	ErrSuspended = errors.New("the namespace is suspended: no task is created or delivered, and its tokens can only read, until an operator resumes it")
	// ErrNotDurable: the change was made, but it is less durable than the store
	// promises, because servers did not confirm it. *ShortError has the
	// details. Repeating the change is safe if it names its task.
	ErrNotDurable = errors.New("the change is not durable yet")
	// ErrUnavailable: the servers that keep the tasks have been unreachable, or
	// busy moving, loading or replacing data, for longer than the store waits.
	// The change may or may not have been made; repeating it is safe.
	ErrUnavailable = errors.New("the store cannot be reached now")
	// ErrStoreReplaced: since this process opened the store, all or some of its
	// servers were emptied or replaced by others. The process makes no more
	// changes there. It is an ErrUnavailable, because the data may come back.
	ErrStoreReplaced error = &remedyError{ErrUnavailable, "the store was emptied or replaced, or a part of it was, so this server stays closed: restore the Redis from a backup, " +
		"and the server goes on by itself; or accept the loss with `foliot redis accept-loss` and then restart every server"}
	// ErrSettingsLost: the store has lost the settings, including the access
	// tokens. It is an ErrUnavailable, like ErrStoreReplaced.
	ErrSettingsLost error = &remedyError{ErrUnavailable, "the store has lost the settings, access tokens among them, so this server stays closed: restore the Redis from a backup, " +
		"and the server goes on by itself; or accept the loss with `foliot redis accept-loss` and then restart every server"}
	// ErrStoreUnfit: a setting of a server that keeps the tasks may lose tasks,
	// and was changed after this process opened the store, or after a failover.
	// Existing tasks go on. It is an ErrFull: the store accepts no new tasks.
	ErrStoreUnfit error = &remedyError{ErrFull, "a setting of the Redis may lose tasks, so this server takes no new tasks; tasks that exist go on: " +
		"the server's log and `foliot doctor` name the setting and the remedy"}
	// ErrClosed: the store was closed, or stopped after an error of its medium.
	ErrClosed = errors.New("the store is closed")
)

// remedyError is an error of another kind with a remedy.
type remedyError struct {
	kind error
	text string
}

// Error returns the failure and the remedies.
func (e *remedyError) Error() string { return e.text }

// Unwrap returns the kind.
func (e *remedyError) Unwrap() error { return e.kind }

// ExistsError is an ErrExists that names the existing task.
type ExistsError struct {
	ID    string
	State State
}

// Error returns a sentence.
func (e *ExistsError) Error() string { return fmt.Sprintf("%v: it is %s", ErrExists, e.State) }

// Unwrap makes e an ErrExists.
func (e *ExistsError) Unwrap() error { return ErrExists }

func (t *Task) exists() error { return &ExistsError{t.ID, t.State} }

// StateError reports that the task's state does not allow the operation.
type StateError struct {
	Op    string // "touch", "run", "retry", "patch", "cancel", "claim"
	ID    string // of the task
	State State
	Code  string // stable, for machines: one of the codes below
	Hint  string // the remedy; may be empty
}

// Error returns a sentence with the hint.
func (e *StateError) Error() string {
	s := fmt.Sprintf("cannot %s a task that is %s", e.Op, e.State)
	if e.Code == CodeNoDelay {
		s = fmt.Sprintf("cannot %s a task that has no delay", e.Op)
	}
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// The codes of a StateError.
const (
	CodeRunning  = "task_running"  // an attempt is under way
	CodeDead     = "task_dead"     // it gave up; retry it first
	CodeNotDead  = "task_not_dead" // only tasks that have ended are retried
	CodeFinished = "task_finished" // delivered, cancelled or expired
	CodeNoDelay  = "no_delay"      // it was created with an absolute time
)

// ShortError is an ErrNotDurable that says how many replicas confirmed the change.
type ShortError struct {
	Confirmed, Wanted int
	Within            time.Duration // the time they had
}

// Error returns a sentence with the remedy.
func (e *ShortError) Error() string {
	return fmt.Sprintf("%v: %d of %d replicas confirmed it within %v: repeat the request; a create without a name or an Idempotency-Key may be made twice then", ErrNotDurable, e.Confirmed, e.Wanted, e.Within)
}

// Unwrap makes e an ErrNotDurable.
func (e *ShortError) Unwrap() error { return ErrNotDurable }

// FieldError reports an invalid field of a request.
type FieldError struct {
	Path   string // "http.headers.host"; "" for the whole
	Code   string // stable: "bad_url", "too_long", ...
	Detail string // a sentence that states the allowed values
}

// Error returns path and detail.
func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Detail
	}
	return e.Path + ": " + e.Detail
}
