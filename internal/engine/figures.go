package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Near implements api.Engine: see dispatch.Dispatcher.Near.
func (n *Node) Near() (timers int, until task.Millis) { return n.dispatch.Near() }

// Slots returns the maximum number of attempts that run at once.
func (n *Node) Slots() int { return n.dispatch.Slots() }

func (n *Node) Backup() func(context.Context, io.Writer) error { return n.Copy }

func (n *Node) Examine() func(context.Context) []wire.Finding { return n.Inspect }

// Egress implements api.Engine. It explains no policy, because the node does
// not know the sender of requests.
func (n *Node) Egress() func(ctx context.Context, url string) wire.Egress { return nil }

// Live implements api.Engine, without idle queues, and idle destinations with a
// closed breaker.
func (n *Node) Live() wire.Live {
	now := n.Now()
	s := n.dispatch.Stats()
	late, waited := n.dispatch.LastMinute()
	l := wire.Live{
		At: wire.FormatTime(now), Running: s.Running, Slots: n.dispatch.Slots(),
		Late: lateness(late), Waited: lateness(waited),
		Attempts: &wire.AttemptTotals{
			Delivered: s.Delivered, Failed: s.Failed, Snoozed: s.Snoozed, Refused: s.Refused, Interrupted: s.Interrupted, Dead: s.Dead,
		},
		Queues: []wire.LiveQueue{}, Destinations: []wire.LiveDestination{},
	}
	for _, q := range n.dispatch.Queues() {
		if q.Running == 0 && q.Overdue == 0 && !q.Limit.Holds() {
			continue
		}
		l.Queues = append(l.Queues, wire.LiveQueue{
			Namespace: q.Namespace, Queue: q.Name, Running: q.Running, Overdue: q.Overdue, OldestMS: wire.MS(q.Oldest), LimitedBy: string(q.Limit),
		})
	}
	for _, d := range n.dispatch.Destinations() {
		if d.Running == 0 && d.Overdue == 0 && d.Breaker == planner.Closed {
			continue
		}
		shown := wire.LiveDestination{
			Namespace: d.Namespace, Destination: d.Host, Running: d.Running, Overdue: d.Overdue, OldestMS: wire.MS(d.Oldest), Breaker: d.Breaker.String(),
		}
		if !d.Until.IsZero() && d.Breaker == planner.Open {
			shown.OpenUntil = wire.FormatTime(d.Until)
		}
		l.Destinations = append(l.Destinations, shown)
	}
	return l
}

// lateness converts l for the API, or returns nil if l counts no attempts.
func lateness(l dispatch.Lateness) *wire.Lateness {
	if l.Count == 0 {
		return nil
	}
	return &wire.Lateness{Count: l.Count, P50MS: wire.MS(l.P50), P90MS: wire.MS(l.P90), P99MS: wire.MS(l.P99), MaxMS: wire.MS(l.Max)}
}

// flushEvery is how much of the history a node loses if it is killed.
const flushEvery = 10 * time.Second

// keepHistory writes the history to the store until ctx ends.
func (n *Node) keepHistory(ctx context.Context) {
	tick := time.Tick(flushEvery)
	for {
		select {
		case <-tick:
			n.flush(context.WithoutCancel(ctx), flushEvery/2)
		case <-ctx.Done():
			n.flush(context.WithoutCancel(ctx), time.Second)
			return
		}
	}
}

func (n *Node) flush(ctx context.Context, patience time.Duration) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := n.past.Flush(ctx, n.Store, task.FloorMillis(n.Trusted())); err != nil && !errors.Is(err, task.ErrClosed) {
		n.sparse.Warn("cannot write the history", "error", err)
	}
}

// FlushHistory implements api.Engine, at most once a second.
func (n *Node) FlushHistory(ctx context.Context) {
	if now := n.Now().Unix(); n.flushed.Swap(now) != now {
		n.flush(ctx, time.Second)
	}
}

func (n *Node) RecentAttempts(f activity.Filter, detailed bool) wire.AttemptList {
	kept, since := n.Attempts.Recent(f)
	list := wire.AttemptList{Attempts: make([]wire.EndedAttempt, len(kept)), Since: wire.FormatTime(since.Time())}
	for i, a := range kept {
		list.Attempts[i] = wire.EndedAttempt{
			At: wire.FormatTime(a.EndedAt.Time()), Namespace: a.Namespace, Queue: a.Queue, Task: a.Name, Number: a.Number, Destination: a.Destination,
			Outcome: a.Outcome, Status: a.Status, Error: a.Error, LateMS: wire.MS(a.Late), WaitedMS: wire.MS(a.Waited), LatencyMS: wire.MS(a.Latency), Dead: a.Died, Reason: a.Reason,
		}
		if detailed && a.Detail != "" {
			list.Attempts[i].Error += " (" + a.Detail + ")"
		}
	}
	return list
}
