package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/task"
)

// logEvery is how often the same failure is logged.
const logEvery = 10 * time.Second

// sparseLog logs failures sparsely: a broken store can fail a thousand times a
// second.
type sparseLog struct {
	logger *slog.Logger
	kinds  sparselog.Kinds // the key is the action that failed
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

func (s *sparseLog) add(action string, err error, args ...any) {
	if leftOut, ok := s.allow(action, 1); ok {
		s.logger.Error("could not "+action, append(args, "error", err, "not_logged_before", leftOut)...)
	}
}

// allow reports whether one more line of a kind can be logged: at most most of
// them in logEvery. leftOut is the number of lines that were not logged since
// the last one that was.
func (s *sparseLog) allow(kind string, most int) (leftOut int, ok bool) {
	return s.kinds.Add(kind, time.Now(), most, logEvery)
}
