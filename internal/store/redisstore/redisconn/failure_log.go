package redisconn

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/task"
)

// LogEvery is the shortest time between two log lines for the same
// failure.
const LogEvery = time.Minute

// reaching names the failure of every call while servers are away. The watch asks all
// servers, and logs the end of the failure when no call has failed for the time calm.
// A Redis that is reading its file answers the watch and refuses all other calls, so
// one answer to the watch is not enough.
const (
	reaching = "use Redis"
	calm     = 2 * CheckEvery
)

// FailureLog logs failures of actions that are tried again and again: the first
// failure, then one line a minute, and the end. While Redis is away, all actions count
// as one failure.
type FailureLog struct {
	logger *slog.Logger

	mu   sync.Mutex          // guards open
	open map[string]*failure // the key is the action that fails
}

// failure is a failure that has not ended.
type failure struct {
	since, last time.Time // when it began, when it failed most recently
	logged      time.Time // when it was logged most recently
	leftOut     int       // lines since then
}

// Note notes the result of an action ("own shards"): it failed with err, or
// succeeded if err is nil. args are attributes of the log line.
func (l *FailureLog) Note(action string, err error, args ...any) {
	if LossOf(err) != nil {
		return // the poll logs it once, for all calls that it fails
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && Away(err) {
		action = reaching
	}
	now := time.Now()
	one, known := l.open[action]
	switch {
	case err == nil && (!known || action == reaching && now.Sub(one.last) < calm):
		return
	case err == nil:
		delete(l.open, action)
		end := now
		if action == reaching {
			end = one.last
		}
		l.logger.Info("can "+action+" again", "after", end.Sub(one.since).Round(time.Millisecond).String())
		return
	case !known:
		if l.open == nil {
			l.open = map[string]*failure{}
		}
		one = &failure{since: now}
		l.open[action] = one
	}
	one.last = now
	if now.Sub(one.logged) < LogEvery {
		one.leftOut++
		return
	}
	l.logger.Warn("could not "+action, append(args, "error", err, "not_logged_before", one.leftOut)...)
	one.logged, one.leftOut = now, 0
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
