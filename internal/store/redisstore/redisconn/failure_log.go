package redisconn

import (
	"errors"
	"io"
	"net"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/task"
)

// reaching names the failure of every call while servers are away. The watch asks all
// servers, and logs the end of the failure when no call has failed for the time calm.
// A Redis that is reading its file answers the watch and refuses all other calls, so
// one answer to the watch is not enough.
const (
	reaching = "use Redis"
	calm     = 2 * CheckEvery
)

// FailureLog is a sparselog.Failures in which all actions count as one failure while Redis
// is away.
type FailureLog struct{ sparselog.Failures }

// Note notes the result of an action: see sparselog.Failures.
func (l *FailureLog) Note(action string, err error, args ...any) {
	switch {
	case LossOf(err) != nil: // the poll logs it once, for all calls that it fails
		return
	case err != nil && Away(err):
		action = reaching
	case err == nil && action == reaching:
		l.End(action, calm)
		return
	}
	l.Failures.Note(action, err, args...)
}

// Away reports whether err means that a server cannot be reached, or cannot
// work at present.
func Away(err error) bool {
	var network net.Error
	var reply *rueidis.RedisError
	switch {
	case errors.As(err, &reply):
		return meaning(reply) != ""
	case errors.Is(err, task.ErrUnavailable), errors.Is(err, io.EOF), errors.As(err, &network), errors.Is(err, rueidis.ErrClosing), errors.Is(err, errNoNode), errors.Is(err, errReplaced):
		return true
	}
	return overdue(err)
}
