package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/foliot/foliot/internal/task"
)

// The codes of SQLSTATE that calls treat in different ways.
const (
	uniqueViolation = "23505"
	lockTimeout     = "55P03"
	deadlock        = "40P01"
	serialization   = "40001"
	diskFull        = "53100"
	undefinedTable  = "42P01"
	readOnly        = "25006"
	stoodStill      = "25P03" // a transaction, on the side of the client
	starting        = "57P03"
	cancelled       = "57014" // by the client, or after statement_timeout
	notAllowed      = "42501"
)

// code returns the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if e, ok := errors.AsType[interface { // of every driver
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}

// failure translates the error of a whole call for its caller, and nil stays nil.
func failure(err error) error {
	switch state := code(err); {
	case err == nil, !unconnected(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return err
	case state == diskFull:
		return fmt.Errorf("%w: PostgreSQL has no room left: %w", task.ErrFull, err)
	case state == lockTimeout:
		return &task.LockedError{}
	case away(err), state != "" && (strings.Contains("08 53 57", state[:2]) || state == readOnly || state == stoodStill):
		return fmt.Errorf("%w: PostgreSQL: %w", task.ErrUnavailable, err)
	}
	return err
}

// unclear reports whether a change that ended with err may have been made without a note of
// that. A pooler, or a server that shuts down, can end the reply to a COMMIT.
func unclear(err error) bool {
	switch state := code(err); {
	case err == nil, errors.Is(err, task.ErrNotDurable), state == cancelled: // a COMMIT that is cancelled has a warning
		return false
	default:
		return state == "" || strings.Contains("08 57", state[:2])
	}
}

// away reports whether err means that the server cannot be reached, or that the
// connection broke.
func away(err error) bool {
	var network net.Error
	return errors.As(err, &network) || unconnected(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// unconnected reports whether no connection was made, perhaps within a time limit of its own.
func unconnected(err error) bool {
	_, is := errors.AsType[*pgconn.ConnectError](err)
	return is
}
