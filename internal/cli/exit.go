package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/usage"
)

// The exit codes. exitCodesHelp is what users read about them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnreachable = 5
	exitUndelivered = 6
	exitDenied      = 7
	exitInterrupted = 130 // as a shell reports SIGINT
)

const exitCodesHelp = `Exit codes:
  0    done
  1    failed: the message says what, and what to do
  2    bad input: the message names the flag, the argument or the field
  3    there is no task, schedule, queue, token or secret of that name
  4    the state of things does not allow it, or a task or schedule of that name exists
  5    the server cannot be reached, or not with http:// or https:// as given
  6    add, get or cron trigger with --wait, listen with --try: the task was not delivered; bench: none was
  7    doctor egress: tasks may not call that URL
  130  interrupted`

// fault is an error that chooses the exit code.
type fault struct {
	code int
	err  error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// exitCode returns the code that tells scripts how err ended the command.
func exitCode(err error) int {
	var refused *client.Error
	var silent *client.TransportError
	code, chosen := chosenCode(err)
	switch {
	case err == nil:
		return exitOK
	case chosen:
		return code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &refused):
		return refusalCode(refused)
	case errors.As(err, &silent):
		return exitUnreachable
	}
	return exitFailure
}

// chosenCode returns the code of the first error in the tree of err that chooses
// one: a fault, or a wrong input.
func chosenCode(err error) (code int, chosen bool) {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself, as errors.As does for one type
	case *fault:
		return e.code, true
	case *usage.Error:
		return exitUsage, true
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

// refusalCode translates a server's refusal.
func refusalCode(e *client.Error) int {
	switch e.Status {
	case 0: // the client has sent nothing: its input is wrong
		return exitUsage
	case http.StatusNotFound:
		if errors.Is(e, client.ErrNotFound) {
			return exitNotFound
		}
	case http.StatusConflict, http.StatusPreconditionFailed:
		return exitConflict
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return exitUsage
	}
	return exitFailure
}

// oneLine returns err as the single line that is printed, for a command or, nil,
// for none.
func oneLine(err error, command *kong.Node) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	text := inWords(err, command) + advice(err)
	return wording.Printable(wording.Shorten(redact.Text(strings.Join(strings.Fields(text), " "))))
}
