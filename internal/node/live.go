package node

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// backup returns the function that copies the store, or nil if the store has no
// files.
func (n *Node) backup() func(context.Context, io.Writer) error {
	s, ok := n.Store.(*pebblestore.Store)
	if !ok {
		return nil
	}
	return func(ctx context.Context, w io.Writer) error {
		err := s.Backup(ctx, w)
		if errors.Is(err, pebblestore.ErrBackupRunning) {
			return &task.FieldError{Code: "busy", Detail: err.Error() + ": wait until it ends"}
		}
		return err
	}
}

// live returns the present work of the server.
func (n *Node) live() wire.Live {
	now := n.clock()
	s := n.dispatch.Stats()
	l := wire.Live{
		At: wire.FormatTime(now), Running: s.Running, Slots: n.cfg.Slots,
		Late: lateness(n.dispatch.LastMinute()),
		Attempts: &wire.AttemptTotals{
			Delivered: s.Delivered, Failed: s.Failed, Deferred: s.Deferred, Refused: s.Refused, Interrupted: s.Interrupted, Dead: s.Dead,
		},
		Queues: []wire.LiveQueue{}, Destinations: []wire.LiveDestination{},
	}
	for _, q := range n.dispatch.Queues() {
		if q.Running == 0 && q.Overdue == 0 && !q.Limit.Holds() {
			continue
		}
		l.Queues = append(l.Queues, wire.LiveQueue{
			Namespace: q.Namespace, Queue: q.Name, Running: q.Running, Overdue: q.Overdue, OldestMS: msOf(q.Oldest), LimitedBy: string(q.Limit),
		})
	}
	for _, d := range n.dispatch.Destinations() {
		if d.Running == 0 && d.Overdue == 0 && d.Breaker == planner.Closed {
			continue
		}
		shown := wire.LiveDestination{
			Namespace: d.Namespace, Destination: d.Host, Running: d.Running, Overdue: d.Overdue, OldestMS: msOf(d.Oldest), Breaker: d.Breaker.String(),
		}
		if !d.Until.IsZero() && d.Breaker == planner.Open {
			shown.OpenUntil = wire.FormatTime(d.Until)
		}
		l.Destinations = append(l.Destinations, shown)
	}
	return l
}

func msOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lateness converts l for the API. It returns nil if no task was sent.
func lateness(l dispatch.Lateness) *wire.Lateness {
	if l.Count == 0 {
		return nil
	}
	return &wire.Lateness{Count: l.Count, P50MS: msOf(l.P50), P90MS: msOf(l.P90), P99MS: msOf(l.P99), MaxMS: msOf(l.Max)}
}
