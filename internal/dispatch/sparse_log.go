package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// logEvery is how often the same failure is logged.
const logEvery = 10 * time.Second

// sparseLog logs failures sparsely: a broken store can fail a thousand times a
// second.
type sparseLog struct {
	logger *slog.Logger

	mu    sync.Mutex          // guards kinds
	kinds map[string]logGroup // by the action that failed
}

type logGroup struct {
	last   time.Time // time of the first line of a group
	lines  int       // lines since then
	silent int       // lines that were not logged
}

// logFailure logs a failed call of the store. It reports whether the failure is
// final: then Run ends. A call that failed because its context ended is no
// failure. If the store cannot be reached, the store itself logs that.
func (d *Dispatcher) logFailure(ctx context.Context, action string, err error) (final bool) {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, task.ErrUnavailable) { // the store logs this once for all callers
		d.logs.logger.Debug("could not "+action, "error", err)
		return false
	}
	d.logs.add(action, err)
	if !errors.Is(err, task.ErrClosed) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
	d.stop()
	return true
}

func (c *sparseLog) add(action string, err error, args ...any) {
	if silent, ok := c.turn(action, 1); ok {
		c.logger.Error("could not "+action, append(args, "error", err, "not_logged_before", silent)...)
	}
}

// turn reports whether one more line of a kind may be logged: lines of them in
// logEvery. silent is the number of lines suppressed since the last logged one.
func (c *sparseLog) turn(action string, lines int) (silent int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[action]
	if now := time.Now(); now.Sub(k.last) >= logEvery {
		k = logGroup{last: now, silent: k.silent}
	}
	if k.lines++; k.lines <= lines {
		silent, ok, k.silent = k.silent, true, 0
	} else {
		k.silent++
	}
	if c.kinds == nil {
		c.kinds = map[string]logGroup{}
	}
	c.kinds[action] = k
	return silent, ok
}
