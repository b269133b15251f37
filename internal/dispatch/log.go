package dispatch

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/task"
)

// logFailure logs a failed call of the store. It reports whether the failure is
// final: then Run ends. A call that failed because its context ended is no
// failure. If the store cannot be reached, the store itself logs that.
func (d *Dispatcher) logFailure(ctx context.Context, action string, err error) (final bool) {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, task.ErrUnavailable) { // the store logs this once for all callers
		d.config.Logger.Debug("could not "+action, "error", err)
		return false
	}
	d.config.Logger.Error("could not "+action, "error", err)
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
