package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Error is the server's refusal of a call, or of one item of a batch.
type Error struct {
	Op     string // what was tried, and on what: "get order-42"; empty for an item of a batch
	Status int    // of the reply; 0: refused here, before anything was sent
	Code   string // stable, for programs; the API's document lists them. Empty: the reply was none of Foliot's
	Field  string // the path of the field, parameter or header that is wrong, where there is one
	Detail string // a sentence for people

	// Count is how many tasks match the filter, or are in the queue, of a call that is refused with ErrCount.
	Count int
	// ID and State are those of the task whose state does not allow the call: the one that
	// exists (ErrExists), or is finished or running (ErrConflict). Empty in other errors.
	ID    string
	State State

	// RetryAfter is how long the server asks to wait; 0: it did not say.
	RetryAfter time.Duration
	// MaybeApplied says that this try of the call, or one before it, may have been carried out.
	MaybeApplied bool
}

// Error returns what was tried and why not.
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Message()
	}
	return e.Op + ": " + e.Message()
}

// Message returns the error without what was tried: the field and what is wrong with it.
func (e *Error) Message() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Is lets errors.Is find the sentinels of this package: by the code, which is more exact, or else by the status.
func (e *Error) Is(target error) bool {
	s, ok := target.(*sentinel)
	switch {
	case !ok:
		return false
	case s.code != "":
		return s.code == e.Code
	}
	return s.status == e.Status && (s.except == "" || s.except != e.Code)
}

// TransportError says that the server did not answer a call.
type TransportError struct {
	Op     string // what was tried, and on what
	Server string // its URL
	Err    error  // why no answer came
	// MaybeApplied says that a request was sent, or a part of it: the call may have been carried out. Where it is false, no
	// connection could be made.
	MaybeApplied bool
}

// Error returns what was tried, where, and why no answer came.
func (e *TransportError) Error() string {
	return e.Op + ": no answer from " + e.Server + " (" + cause(e.Err) + ")"
}

// Unwrap returns why no answer came.
func (e *TransportError) Unwrap() error { return e.Err }

// sentinel is an error that stands for a code, or for a status but for one of its codes.
type sentinel struct {
	code   string
	status int
	except string
	text   string
}

func (s *sentinel) Error() string { return s.text }

// What errors.Is can ask an error for. An Error's Code tells more.
var (
	ErrNotFound     error = &sentinel{code: "not_found", text: "there is nothing of that name"}
	ErrExists       error = &sentinel{code: "exists", text: "a task of that name exists"}
	ErrPrecondition error = &sentinel{code: "precondition_failed", text: "the condition does not hold"}
	ErrCount        error = &sentinel{code: "count_differs", text: "another number of tasks matches than was expected"}
	ErrKeyReused    error = &sentinel{code: "idempotency_key_reused", text: "the idempotency key was used with another request"}
	ErrConflict     error = &sentinel{status: http.StatusConflict, text: "the task's state does not allow it"} // and ErrExists
	ErrFull         error = &sentinel{code: "capacity", text: "the store takes no more"}                       // and ErrUnavailable
	ErrUnauthorized error = &sentinel{status: http.StatusUnauthorized, text: "the server wants a token that is good"}
	ErrForbidden    error = &sentinel{status: http.StatusForbidden, except: "quota_exceeded", text: "the token does not allow it"}
	ErrQuota        error = &sentinel{code: "quota_exceeded", text: "the namespace has as much as it may have"}
	ErrRateLimited  error = &sentinel{status: http.StatusTooManyRequests, text: "that was too fast: wait"}
	ErrLastToken    error = &sentinel{code: "last_admin_token", text: "it is the last operator's token of scope admin"}
	ErrLastNode     error = &sentinel{code: "last_node", text: "no other node could take its shards"}
	ErrUnavailable  error = &sentinel{status: http.StatusServiceUnavailable, text: "the server is stopping, or its store cannot be reached"}

	// ErrReplaced ends a Wait: another task of that name was put in the place of the one that was waited for.
	ErrReplaced = errors.New("another task was put in its place")
)

// MaybeApplied reports whether the call that returned err may have been carried out all the same: no answer came after a request
// that was sent, or one that does not tell. It is false for nil, and where the server refused.
func MaybeApplied(err error) bool {
	var refused *Error
	var silent *TransportError
	switch { // the silence first: its cause may be why a context ended, which may be another call's error
	case errors.As(err, &silent):
		return silent.MaybeApplied
	case errors.As(err, &refused):
		return refused.MaybeApplied
	}
	return false
}

// marked returns err, saying of a call of several tries whether any of them may have been carried out.
func marked(err error, maybeApplied bool) error {
	var refused *Error
	var silent *TransportError
	switch { // as above: another call's error is not ours to change
	case errors.As(err, &silent):
		silent.MaybeApplied = maybeApplied
	case errors.As(err, &refused):
		refused.MaybeApplied = maybeApplied
	}
	return err
}

// problemError returns the error that a problem is.
func problemError(p wire.Problem) *Error {
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	e := &Error{Status: p.Status, Code: p.Code, Field: p.Field, ID: p.ID, State: State(p.State), Detail: strings.TrimPrefix(detail, p.Field+": ")}
	if p.Count != nil {
		e.Count = *p.Count
	}
	return e
}

// refused is the error of what is refused here, before anything is sent.
func refused(op, code, field, detail string) error {
	return &Error{Op: op, Code: code, Field: field, Detail: detail}
}

// unsent reports whether err shows that nothing was sent: no connection could be made.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") || hopeless(err)
}

// hopeless reports whether another try would end like this one: the server cannot prove who it is, or the scheme is not its own.
func hopeless(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted) || errors.Is(err, ErrSpeaksTLS) || errors.Is(err, ErrNoTLS)
}

// cause returns the last words of a network error: "connection refused".
func cause(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return "given up"
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op):
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	return err.Error()
}
