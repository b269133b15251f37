package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// firstWait and lastWait bound the waits between repetitions of a call that
// failed; each is twice the one before.
const firstWait, lastWait = 10 * time.Millisecond, time.Second

func nextWait(wait time.Duration) time.Duration { return min(2*wait, lastWait) }

// logEvery is how often the same trouble is logged.
const logEvery = 10 * time.Second

// sparseLog logs trouble sparsely: a store that fails fails a thousand times a second.
type sparseLog struct {
	logger *slog.Logger

	mu    sync.Mutex          // guards kinds
	kinds map[string]logGroup // by what could not be done
}

type logGroup struct {
	last   time.Time // when it was logged first, of a group of lines
	lines  int       // since then
	silent int       // not logged
}

// logFailure logs that a call of the store failed, and reports whether that is
// for good: then Run ends. A call that failed because its context ended is no
// trouble, and one whose store cannot be reached is the store's.
func (d *Dispatcher) logFailure(ctx context.Context, what string, err error) (final bool) {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, task.ErrUnavailable) { // the store tells it once for all of us
		d.logs.logger.Debug("could not "+what, "error", err)
		return false
	}
	d.logs.add(what, err)
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

func (c *sparseLog) add(what string, err error, args ...any) {
	if silent, ok := c.turn(what, 1); ok {
		c.logger.Error("could not "+what, append(args, "error", err, "not_logged_before", silent)...)
	}
}

// turn reports whether a line of a kind may be logged, of which there are so many in
// logEvery, and how many were not since the last that was.
func (c *sparseLog) turn(what string, lines int) (silent int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[what]
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
	c.kinds[what] = k
	return silent, ok
}
