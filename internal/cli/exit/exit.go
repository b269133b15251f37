package exit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/usage"
)

// The exit codes. CodesHelp explains them to users, and CodesSummary names them.
const (
	OK          = 0
	Failure     = 1
	Usage       = 2
	NotFound    = 3
	Conflict    = 4
	Unreachable = 5
	Undelivered = 6
	Denied      = 7
	Differs     = 8
	Unconfirmed = 9
	Interrupted = 130 // as a shell reports SIGINT
)

// CodesHelp lists the exit codes for the manual page.
const CodesHelp = `Exit codes:
  0    success
  1    failure: the message gives the reason and a remedy
  2    invalid input: the message names the flag, the argument or the field
  3    not found: no task, schedule, queue, token, secret or node has that name; namespace rm: no such namespace.
       An unknown namespace in --namespace or --for is a failure (1), because the task may exist in another one
  4    conflict: the current state forbids it, or a task or schedule already has that name
  5    the server cannot be reached, or its address needs https:// instead of http://, or the reverse
  6    add, get or cron trigger with --wait, listen with --try: the task was not delivered;
       demo: a timer was lost, or another promise was broken
  7    doctor egress: tasks may not call that URL
  8    apply --dry-run: the server differs from the files
  9    changed, but the named nodes had not applied the change after two seconds: except for apply, repeat the command to see if they have
  130  interrupted`

// CodesSummary names the exit codes for the help of foliot itself, which must
// stay short.
const CodesSummary = `Exit codes: 0 success, 1 failure, 2 invalid input, 3 not found, 4 conflict, 5 server not reached,
6 not delivered, 7 URL not allowed, 8 apply differs, 9 not yet on all nodes, 130 interrupted. "foliot man" explains them.`

// codedError is an error with an exit code of its own.
type codedError struct {
	code int
	err  error
}

// With returns err with an exit code of its own.
func With(code int, err error) error { return &codedError{code, err} }

// Applied returns an error if nodes have not applied a change that is made.
func Applied(unconfirmed []string) error {
	if len(unconfirmed) == 0 {
		return nil
	}
	return With(Unconfirmed, fmt.Errorf("the change is made, but after two seconds these nodes had not applied it: %s", strings.Join(unconfirmed, ", ")))
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// Unparsed returns the error for a command line that cannot be parsed.
func Unparsed(err error, hint string) error { return With(Usage, &unparsedError{err, hint}) }

type unparsedError struct {
	error

	hint string
}

// Reword returns an error with another text. It keeps err as its cause, and the
// exit code of err.
func Reword(err error, format string, args ...any) error {
	return &rewordedError{fmt.Sprintf(format, args...), err}
}

type rewordedError struct {
	text  string
	cause error
}

func (e *rewordedError) Error() string { return e.text }
func (e *rewordedError) Unwrap() error { return e.cause }

// ErrReported marks an error that was already printed. Only its exit code
// still counts.
var ErrReported = errors.New("already reported")

// CodeOf returns the exit code of a command that ended with err.
func CodeOf(err error) int {
	var refused *client.Error
	var noReply *client.TransportError
	code, chosen := chosenCode(err)
	switch {
	case err == nil:
		return OK
	case chosen:
		return code
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.As(err, &refused):
		return RefusalCode(refused)
	case errors.As(err, &noReply):
		return Unreachable
	}
	return Failure
}

// chosenCode returns the code of the first error in the tree of err that has
// one: an codedError or a usage.Error.
func chosenCode(err error) (code int, chosen bool) {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself, as errors.As does for one type
	case *codedError:
		return e.code, true
	case *usage.Error:
		return Usage, true
	case interface{ Unwrap() error }:
		return chosenCode(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if code, chosen = chosenCode(part); chosen {
				return code, true
			}
		}
	}
	return 0, false
}

// RefusalCode returns the exit code for an error reply of the server.
func RefusalCode(e *client.Error) int {
	switch e.Status {
	case 0: // the client sent nothing because its input is invalid
		return Usage
	case http.StatusNotFound:
		if errors.Is(e, client.ErrNotFound) && !errors.Is(e, client.ErrNamespace) {
			return NotFound
		}
	case http.StatusConflict, http.StatusPreconditionFailed:
		return Conflict
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return Usage
	}
	return Failure
}

// OneLine returns err as one line of text.
func (w Words) OneLine(err error) string {
	text := w.reword(err)
	if text != interrupted {
		text += advice(err)
	}
	return clean(text)
}
