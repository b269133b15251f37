package task

import (
	"errors"
	"fmt"
	"time"
)

// The errors of the contract, which stores return, wrapped or bare, and into which
// they translate their own. One table in internal/api maps them to HTTP.
var (
	// ErrNotFound means that no record has that name.
	ErrNotFound = errors.New("no such task")
	// ErrExists means that a create found a record of that name.
	ErrExists = errors.New("a task with that name exists")
	// ErrIdempotencyReuse means that the Idempotency-Key was used for a
	// different request.
	ErrIdempotencyReuse = errors.New("the idempotency key was used with another request: use a new key for each request")
	// ErrPrecondition means that If-Match or If-None-Match does not hold.
	ErrPrecondition = errors.New("the task does not meet If-Match (its version) or If-None-Match (no task has the name): read it again")
	// ErrStale means that the token no longer holds the task's lease, so the
	// caller has nothing to settle.
	ErrStale = errors.New("the lease is no longer held")
	// ErrNotDue means that the task is due later than now, because it was moved.
	ErrNotDue = errors.New("the task is not due yet")
	// ErrLaneChanged means that the task is not in the lane that the claim names.
	ErrLaneChanged = errors.New("the task is in another lane")
	// ErrExpired means that the claim found the task expired and finished it, so
	// no attempt starts.
	ErrExpired = errors.New("the task expired before an attempt could start")
	// ErrCancelRequested means that the lease was extended, and that the task was
	// cancelled while its attempt was under way.
	ErrCancelRequested = errors.New("the task was cancelled during its attempt")
	// ErrFull means that the store accepts no new records.
	ErrFull = errors.New("the store is full")
	// ErrSuspended means that the namespace is suspended, so it accepts no new
	// tasks, and its own tokens can only read.
	ErrSuspended = errors.New("the namespace is suspended: no task is created or delivered, and its tokens can only read, until an operator resumes it (foliot namespace set NAME --no-suspended)")
	// ErrNotDurable means that the change was made, but is less durable than the
	// store promises, because too few servers confirmed it; *ShortError has the
	// details. Repeating the change is safe if it names its task.
	ErrNotDurable = errors.New("the change is not durable yet")
	// ErrUnavailable means that the servers that keep the tasks were unreachable,
	// or busy moving, loading or replacing data, for longer than the store waits.
	// The change might have been made, and repeating it is safe.
	ErrUnavailable = errors.New("the store cannot be reached, or refuses writes")
	// ErrStoreReplaced means that all or some of the store's servers were emptied
	// or replaced after this process opened the store, so it makes no more changes
	// there. The error is an ErrUnavailable, because the data can come back.
	ErrStoreReplaced error = &remedyError{ErrUnavailable, "the store, or a part of it, was emptied or replaced, so this server refuses all requests. Restore its data, " +
		"and the server continues by itself. Or accept the loss, on Redis with `foliot redis accept-loss`, and then restart every server"}
	// ErrSettingsLost means that the store has lost the settings, including the
	// access tokens, and is an ErrUnavailable, like ErrStoreReplaced.
	ErrSettingsLost error = &remedyError{ErrUnavailable, "the store has lost the settings and the access tokens, so this server refuses all requests. Restore its data, " +
		"and the server continues by itself. Or accept the loss, on Redis with `foliot redis accept-loss`, and then restart every server"}
	// ErrStoreUnfit means that a server that keeps the tasks has a setting with
	// which tasks can be lost, since a change or a failover after this process
	// opened the store. The error is an ErrFull, because the store accepts no new
	// tasks, while existing tasks continue.
	ErrStoreUnfit error = &remedyError{ErrFull, "a setting of Redis may lose tasks, so this server accepts no new tasks. Existing tasks continue. " +
		"The log of the server and `foliot doctor` name the setting and the remedy"}
	// ErrClosed means that the store was closed, or stopped after a disk error.
	ErrClosed = errors.New("the store is closed")
	// ErrStopped is the ErrClosed of a store that stopped after a disk error. The change
	// may have been made.
	ErrStopped error = &remedyError{ErrClosed, "the store has stopped after an error of its disk"}
)

// Unavailable returns err as an ErrUnavailable, with its own text.
func Unavailable(err error) error { return unavailable{err} }

type unavailable struct{ error }

func (unavailable) Is(target error) bool { return target == ErrUnavailable } //nolint:errorlint // it is not wrapped

func (u unavailable) Unwrap() error { return u.error }

// LockedError is an ErrUnavailable: an open transaction of another program holds a lock
// that the change needs, so nothing was changed.
type LockedError struct {
	For time.Duration // the age of the transaction; 0 if it is unknown
}

func (e *LockedError) Error() string {
	age := ""
	if e.For > 0 {
		age = fmt.Sprintf(", which began %v ago", e.For.Round(time.Millisecond))
	}
	return "an open transaction has locked the task" + age + ": repeat the request after its end, or end it; foliot doctor postgres names it"
}

// Unwrap makes e an ErrUnavailable.
func (e *LockedError) Unwrap() error { return ErrUnavailable }

// Applied reports whether a transition that returned err has a result to write,
// because ErrExpired and ErrCancelRequested only report a fact that the transition
// has found.
func Applied(err error) bool {
	return err == nil || errors.Is(err, ErrExpired) || errors.Is(err, ErrCancelRequested)
}

// remedyError adds a remedy to the error kind, which it wraps.
type remedyError struct {
	kind error
	text string
}

func (e *remedyError) Error() string { return e.text }

func (e *remedyError) Unwrap() error { return e.kind }

// ExistsError is an ErrExists that names the existing task.
type ExistsError struct {
	ID    string
	State State
}

func (e *ExistsError) Error() string { return fmt.Sprintf("%v: it is %s", ErrExists, e.State) }

// Unwrap makes e an ErrExists.
func (e *ExistsError) Unwrap() error { return ErrExists }

func (t *Task) exists() error { return &ExistsError{t.ID, t.State} }

// StateError reports that the task's state does not allow the operation.
type StateError struct {
	Op    string // "touch", "run", "retry", "change", "move", "cancel", "claim"
	ID    string // of the task
	State State
	Code  string // stable, for machines: one of the codes below
	Hint  string // the remedy; empty if there is none
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
	CodeDead     = "task_dead"     // its attempts or its age are exhausted; retry it first
	CodeNotDead  = "task_not_dead" // only tasks that have ended are retried
	CodeFinished = "task_finished" // delivered, cancelled or expired
	CodeNoDelay  = "no_delay"      // it was created with an absolute time
)

// ShortError is an ErrNotDurable that says how many replicas confirmed the change.
type ShortError struct {
	Confirmed, Wanted int
	Within            time.Duration // the time that the replicas had to confirm
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

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Detail
	}
	return e.Path + ": " + e.Detail
}
