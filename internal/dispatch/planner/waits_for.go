package planner

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// WaitsFor returns why a due task of a lane does not start, and when that reason
// ends by itself; zero means never, or unknown. Another reason can follow. Of a
// lane that was not read yet, only the settings and LimitRunner are known.
func (pl *Planner) WaitsFor(name task.Lane, now time.Time) (by Limit, until time.Time) {
	if by, until = pl.heldBy(name, now); by != NoLimit {
		return by, until
	}
	l := pl.lanes[name]
	if l == nil {
		if _, runs := pl.runs(destinationKey{name.Namespace, name.Destination}); !runs {
			return LimitRunner, time.Time{}
		}
		return LimitTurn, time.Time{}
	}
	by, end := pl.waitsFor(l)
	return by, pl.endAt(end, now)
}

// endAt returns the wall time of the end of a reason; zero means never, or
// unknown.
func (pl *Planner) endAt(end time.Duration, now time.Time) time.Time {
	if end == 0 || end == nowhen {
		return time.Time{}
	}
	return pl.wallAt(end, now)
}

// heldBy returns the setting that holds the tasks of a lane, and its end.
func (pl *Planner) heldBy(l task.Lane, now time.Time) (by Limit, until time.Time) {
	by = Limit(pl.settings.Hold(l, task.FloorMillis(now)))
	if end := pl.settings.Queue(l.Namespace, l.Queue).PausedUntil; by == Limit(settings.HeldByPause) && end != 0 {
		until = end.Time()
	}
	return by, until
}

// waitsFor is WaitsFor for a lane that no setting holds.
func (pl *Planner) waitsFor(l *lane) (by Limit, until time.Duration) {
	q, k := l.queue, l.destination.kind
	if by, until = pl.blocks(l); by != NoLimit {
		return by, until
	}
	switch at := q.token(pl.monotonic); {
	case q.full(pl.monotonic):
		return LimitConcurrency, 0
	case !l.urgent() && at > pl.monotonic:
		return LimitRate, at
	case l.quarantined() && pl.quarantine.taken:
		return LimitQuarantine, 0
	case k != nil && k.atOnce > 0 && k.running >= k.atOnce:
		return LimitKind, 0
	case l.node.inTree && !pl.hasSlot(l):
		return LimitSlots, 0
	}
	return LimitTurn, 0
}

// hasSlot reports whether there would be a slot for a task of l, which must be
// ready, if it had its turn now.
func (pl *Planner) hasSlot(l *lane) bool {
	left := pl.left()
	if q := l.queue; !l.quarantined() && q.node.inTree {
		q.namespace.divide(&left)
		q.narrow(&left)
	}
	return l.node.cost.fit(&left)
}

// waited returns how much of the time since a task of l became due must be
// attributed to obstacles: the reasons of WaitsFor, except LimitTurn and
// LimitUnsent. It is the time until the last of them ended, as the Planner noticed
// it. The rest is the lateness of this node. l must have its turn now.
//
// A lane or queue that an obstacle stops records the end of the obstacle. A slot
// can be missing for very many lanes, so the Planner only records when it last
// found that no ready lane had a slot. This includes kinds at their limit and
// lanes in quarantine, and concerns each lane that was ready at that time.
func (pl *Planner) waited(l *lane, late time.Duration) time.Duration {
	since := max(l.opened, l.queue.opened)
	if pl.slotSince > l.readySince {
		since = max(since, pl.slotSince)
	}
	if since == 0 { // no obstacle since New
		return 0
	}
	return max(late-(pl.monotonic-since), 0)
}
