// Package watchdog reports a machine that sends no heartbeat for a minute.
package watchdog

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot"
)

// Silence is the longest time between two heartbeats.
const Silence = time.Minute

var silent = foliot.NewKind[string]("machine-silent")

// Handle sets the handler that reports silent machines.
func Handle(mux *foliot.Mux, report func(ctx context.Context, machine string) error) {
	silent.Handle(mux, func(ctx context.Context, t *foliot.Task[string]) error { return report(ctx, t.Args) })
}

// Heartbeat must be called for each heartbeat of a machine. The first heartbeat
// starts the timer. So does the first heartbeat after a report.
func Heartbeat(ctx context.Context, s foliot.Scheduler, machine string) error {
	_, err := s.Touch(ctx, "silent-"+machine)
	if errors.Is(err, foliot.ErrNotFound) || errors.Is(err, foliot.ErrEnded) || errors.Is(err, foliot.ErrRunning) {
		_, err = silent.Put(ctx, s, "silent-"+machine, foliot.In(Silence), machine)
	}
	return err
}
