package node

import (
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/wire"
)

// Live returns the current work of the node. It omits idle queues, and idle
// destinations with a closed breaker.
func (n *Node) Live() wire.Live {
	now := n.Now()
	s := n.dispatch.Stats()
	late, waited := n.dispatch.LastMinute()
	l := wire.Live{
		At: wire.FormatTime(now), Running: s.Running, Slots: n.dispatch.Slots(),
		Late: lateness(late), Waited: lateness(waited),
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

// msOf returns d in milliseconds.
func msOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lateness converts l for the API. It returns nil if l counts no attempts.
func lateness(l dispatch.Lateness) *wire.Lateness {
	if l.Count == 0 {
		return nil
	}
	return &wire.Lateness{Count: l.Count, P50MS: msOf(l.P50), P90MS: msOf(l.P90), P99MS: msOf(l.P99), MaxMS: msOf(l.Max)}
}
