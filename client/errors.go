package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// Error is returned if the server refuses a call.
type Error struct {
	Op     string // verb and name of the call: "get order-42"; empty for an item of an import
	Status int    // HTTP status; zero means that this package refused the call and sent nothing
	Code   string // stable, for programs; /docs/problems of a server lists the codes. Empty means that another program replied
	Field  string // path of the invalid field, parameter or header, if there is one
	Detail string // a sentence for people

	// Count is the number of tasks that match the filter, or that are in the
	// queue. Only an ErrCount has it.
	Count int
	// ID and State describe the task that prevents the call: the existing task
	// of an ErrExists, or a task whose state does not allow the change. Both
	// are empty in other errors.
	ID    string
	State State
	// Suggestion is the known name that is spelled most like an unknown field
	// or parameter. Kind and Name identify the record that does not exist or is
	// busy: "queue", "orders".
	Suggestion, Kind, Name string
	// Allowed lists the values that Field may have.
	Allowed []string

	// RetryAfter is the delay that the server asks for, zero if it asks for
	// none.
	RetryAfter time.Duration
	// MaybeApplied reports whether the server may have applied this request of
	// the call, or an earlier one.
	MaybeApplied bool
}

// Error returns the call and the reason.
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Message()
	}
	return e.Op + ": " + e.Message()
}

// Message returns the reason without the call: the field and the fault in it.
func (e *Error) Message() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Is reports whether target is a sentinel of this package that describes e.
// errors.Is calls it. Some sentinels stand for one code, others for all codes
// of a status, so an Error can match two of them.
func (e *Error) Is(target error) bool {
	s, ok := target.(*sentinel)
	switch {
	case !ok:
		return false
	case s.code != "":
		return e.Code == s.code || e.Code == s.orCode && s.orCode != ""
	}
	return s.status == e.Status && (s.except == "" || s.except != e.Code)
}

// TransportError is returned if the server did not reply to a call.
type TransportError struct {
	Op     string // verb and name of the call
	Server string // the server's URL
	Err    error  // the cause
	// MaybeApplied reports whether a request was sent, at least in part, so
	// that the server may have applied it. It is false if no connection could
	// be made.
	MaybeApplied bool
}

// Error returns the call, the server and the cause.
func (e *TransportError) Error() string {
	return e.Op + ": no reply from " + e.Server + " (" + cause(e.Err) + ")"
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// sentinel stands for a code or two, or for all codes of a status except one.
type sentinel struct {
	code   string
	orCode string
	status int
	except string
	text   string
}

func (s *sentinel) Error() string { return s.text }

// Sentinels for errors.Is, but the Code of an Error is more exact.
//
// ErrNotFound stands for status 404 of a record: the task, schedule, queue,
// token, secret, node or namespace does not exist. ErrNamespace stands for the
// last of these alone: the namespace of the call does not exist, or the
// namespace that it names.
//
// ErrConflict stands for every 409: the present state of a task or of another
// record does not allow the change. So errors.Is(err, ErrConflict) is true as
// well for ErrExists, ErrLastToken and ErrLastNode. In the same way
// ErrUnavailable stands for every 503, including ErrFull.
var (
	ErrNotFound     error = &sentinel{code: "not_found", orCode: codeNamespace, text: "no record has that name or id"}
	ErrNamespace    error = &sentinel{code: codeNamespace, text: "the namespace does not exist"}
	ErrExists       error = &sentinel{code: "exists", text: "a task with that name exists"}
	ErrPrecondition error = &sentinel{code: "precondition_failed", text: "the record has another version, or exists although it must not: read it again"}
	ErrCount        error = &sentinel{code: "count_differs", text: "the number of matching tasks differs from the expected number"}
	ErrKeyReused    error = &sentinel{code: "idempotency_key_reused", text: "the idempotency key was used with another request: use a new key for each request"}
	ErrConflict     error = &sentinel{status: http.StatusConflict, text: "the current state of the record does not allow the change"}
	ErrFull         error = &sentinel{code: "capacity", text: "the store is full"}
	ErrUnauthorized error = &sentinel{status: http.StatusUnauthorized, text: "the server requires a valid token"}
	ErrForbidden    error = &sentinel{status: http.StatusForbidden, except: "quota_exceeded", text: "the token does not allow the request"}
	ErrQuota        error = &sentinel{code: "quota_exceeded", text: "the namespace has reached its quota"}
	ErrRateLimited  error = &sentinel{status: http.StatusTooManyRequests, text: "too many requests: retry later"}
	ErrLastToken    error = &sentinel{code: "last_admin_token", text: "this is the last operator's token of scope admin"}
	ErrLastNode     error = &sentinel{code: "last_node", text: "no other node could take its shards"}
	ErrUnavailable  error = &sentinel{status: http.StatusServiceUnavailable, text: "the server is stopping, or its store cannot be reached"}

	// ErrReplaced is returned by Wait if another task was put in the place of
	// the task that it waits for.
	ErrReplaced = errors.New("another task replaced it")
)

// codeNamespace is the code of an error about a missing namespace.
const codeNamespace = "unknown_namespace"

// MaybeApplied reports whether the server may have applied the call that
// returned err. This is so if no reply came to a request that was sent, or if
// the reply does not show the outcome. It is false for nil and if the server
// refused the call.
func MaybeApplied(err error) bool {
	if transport, ok := errors.AsType[*TransportError](err); ok { // first: its cause may wrap another call's Error
		return transport.MaybeApplied
	}
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.MaybeApplied
}

// withMaybeApplied returns err with MaybeApplied set for the whole call, which
// may have sent several requests.
func withMaybeApplied(err error, maybeApplied bool) error {
	if transport, ok := errors.AsType[*TransportError](err); ok { // as above: do not change another call's error
		transport.MaybeApplied = maybeApplied
	} else if refused, ok := errors.AsType[*Error](err); ok {
		refused.MaybeApplied = maybeApplied
	}
	return err
}

// refused returns the error for a call that this package refuses before it
// sends anything.
func refused(op, code, field, detail string) error {
	return &Error{Op: op, Code: code, Field: field, Detail: detail}
}

// unsent reports whether err proves that nothing was sent: no connection could
// be made.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") || unusable(err)
}

// permanent reports whether a repeat must fail in the same way.
func permanent(err error) bool { return unusable(err) || errors.Is(err, ErrNeedsCertificate) }

// unusable reports whether no request can be sent: the server's certificate is
// not trusted, or the URL has the wrong scheme.
func unusable(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted) || errors.Is(err, ErrSpeaksTLS) || errors.Is(err, ErrNoTLS)
}

// cause returns the last part of a network error, such as "connection refused".
func cause(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrNeedsCertificate):
		return ErrNeedsCertificate.Error()
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op):
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	return err.Error()
}
