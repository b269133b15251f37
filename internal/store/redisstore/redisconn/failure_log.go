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

// LogAgainEvery is how often the same failure is logged.
const LogAgainEvery = time.Minute

// reaching is what fails while servers are away, whatever was tried: the watch,
// that asks all of them, says when it has ended. That is so when nothing else has failed
// for calm: a Redis that reads its file says how it is, and does nothing else.
const (
	reaching = "reach Redis"
	calm     = 2 * LookEvery
)

// FailureLog logs what is tried again and again, and fails: when that begins, once a
// minute while it lasts, and when it has ended. A Redis that is away would fill the log
// otherwise, and is one failure for all.
type FailureLog struct {
	logger *slog.Logger

	mu   sync.Mutex         // guards open
	open map[string]failure // by what could not be done
}

// failure is one that has not ended.
type failure struct {
	since, logged, last time.Time // when it began, was logged, failed again
	silent              int       // failures since it was logged
}

// Note notes that what was tried failed with err, or did not. args stand in the log, too.
func (t *FailureLog) Note(what string, err error, args ...any) {
	if LossOf(err) != nil {
		return // the poll logs it, once for all that it makes fail
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && Away(err) {
		what = reaching
	}
	now := time.Now()
	one, known := t.open[what]
	switch {
	case err == nil && (!known || what == reaching && now.Sub(one.last) < calm):
		return
	case err == nil:
		delete(t.open, what)
		end := now
		if what == reaching {
			end = one.last
		}
		t.logger.Info(what+": works again", "after", end.Sub(one.since).Round(time.Millisecond).String())
		return
	case !known:
		one.since = now
	case now.Sub(one.logged) < LogAgainEvery:
		one.last = now
		one.silent++
		t.open[what] = one
		return
	}
	t.logger.Warn("could not "+what, append(args, "error", err, "not_logged_before", one.silent)...)
	one.logged, one.last, one.silent = now, now, 0
	if t.open == nil {
		t.open = map[string]failure{}
	}
	t.open[what] = one
}

// Away reports whether err says that a server is not there, or does not work now.
func Away(err error) bool {
	var network net.Error
	var reply *rueidis.RedisError
	switch {
	case errors.As(err, &reply):
		return meaning(reply) != ""
	case errors.Is(err, task.ErrUnavailable), errors.Is(err, io.EOF), errors.As(err, &network), errors.Is(err, rueidis.ErrClosing), errors.Is(err, errNoNode):
		return true
	}
	return overdue(err)
}
