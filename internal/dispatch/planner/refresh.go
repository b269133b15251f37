package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// effects is the work that events have caused since the last call of Refresh.
type effects struct {
	Claim   bool // a task can start: call Take
	Fire    bool // a schedule is due: call TakeFires
	Refill  bool // lanes must be read, or an update is unfinished: call Reads, then Refresh
	Survey  bool // lanes without known tasks must be read: call BeginRounds
	Permits bool // a part of a shared limit must be requested or returned: call Asks

	Interrupt bool            // the attempt in quarantine must be interrupted: see quarantineSlot
	Several   bool            // more than one namespace is known
	Wakeups   []*Wakeup       // those with a changed moment: their timers must be set or removed
	Breakers  []BreakerChange // breakers that opened or closed
}

// Refresh puts the lanes and queues that have changed in their places, and
// returns the calls that are useful next. It must be called after each group of
// other calls. It also does the next piece of an unfinished update.
func (pl *Planner) Refresh(now task.Millis) effects {
	pl.markNextPiece()
	pl.refresh(now)
	e := effects{
		Claim:     pl.choose.first(pl.monotonic) != nil,
		Fire:      pl.fires(),
		Refill:    len(pl.window.toRead)+len(pl.updates) > 0,
		Survey:    pl.window.needsSurvey,
		Permits:   len(pl.limits.pending) > 0,
		Interrupt: pl.choose.quarantine.mustInterrupt(pl.monotonic),
		Several:   len(pl.namespaces) > 1,
		Wakeups:   pl.wakeups,
		Breakers:  pl.limits.breakers,
	}
	pl.window.needsSurvey, pl.wakeups, pl.limits.breakers = false, nil, nil
	for _, w := range e.Wakeups {
		w.dirty = false
	}
	return e
}

// mark records that an event has changed l, so that refresh places it again.
// refit means that l may have too many tasks now, or room for more.
func (pl *Planner) mark(l *lane, refit bool) {
	l.refit = l.refit || refit
	if !l.marked {
		l.marked = true
		pl.lanesChanged = append(pl.lanesChanged, l)
	}
}

// markQueue records that an event has changed q.
func (pl *Planner) markQueue(q *queue) {
	if !q.marked {
		q.marked = true
		pl.queuesChanged = append(pl.queuesChanged, q)
	}
}

// After a start or an end of an attempt, markAttempt marks l and the lanes that
// share its limit per destination.
func (pl *Planner) markAttempt(l *lane, started bool) {
	pl.mark(l, started)
	if l.queue.settings.PerDestination > 0 {
		for _, other := range l.queueDestination.lanes {
			pl.mark(other, false)
		}
	}
}

// markLease marks the queue or the lanes that a lease limits.
func (pl *Planner) markLease(l *LimitLease) {
	switch {
	case !l.inUse():
	case l.destination == nil:
		pl.markQueue(l.queue)
	default:
		for _, lane := range l.destination.lanes {
			pl.mark(lane, false)
		}
	}
}

// update is a change that affects every lane of a destination or a queue. A
// namespace can have a hundred thousand queues that lead to one destination, so
// the lanes are marked in pieces, and updates take turns.
//
// Until the update is done, a lane can have an old place in its tree, so Take
// checks a lane again before it picks a task from it.
type update struct {
	lanes   *[]*lane
	at      int  // the index after the next lane; lanes are handled from the end to the start, again and again
	left    int  // how many lanes are left; zero means that the update is done
	waiting bool // it is in Planner.updates
}

// pieceLanes is how many lanes of an update are marked at a time.
const pieceLanes = 512

// markAll starts the update u and marks its first piece. If u is under way, it
// begins again, but continues from its present index. A receiver's breaker can
// open and close faster than all its lanes can be handled. If each update began
// at the same end, lanes at the other end would never be updated.
func (pl *Planner) markAll(u *update) {
	u.left = len(*u.lanes)
	pl.markPiece(u)
}

// markNextPiece marks the next piece of the first unfinished update.
func (pl *Planner) markNextPiece() {
	if len(pl.updates) > 0 {
		u := pop(&pl.updates)
		u.waiting = false
		pl.markPiece(u)
	}
}

func (pl *Planner) markPiece(u *update) {
	u.left = min(u.left, len(*u.lanes))
	for n := pl.pieces; n > 0 && u.left > 0; n-- {
		if u.at == 0 || u.at > len(*u.lanes) {
			u.at = len(*u.lanes)
		}
		u.at--
		u.left--
		pl.mark((*u.lanes)[u.at], true)
	}
	if u.left > 0 && !u.waiting {
		u.waiting = true
		pl.updates = append(pl.updates, u)
	}
}

// grown records a new lane at the end of the list. The new lane needs no
// update, but the count must include it because the update passes it.
func (u *update) grown() {
	if u.left > 0 {
		u.left++
	}
}

// filled marks the lane at index at, which took the place of a removed lane,
// because the update may have passed that index before.
func (pl *Planner) filled(u *update, at int) {
	if u.left > 0 && at < len(*u.lanes) {
		pl.mark((*u.lanes)[at], true)
	}
}

// stale reports whether an unfinished update can still change the place of l.
func (l *lane) stale() bool { return l.destination.update.left > 0 || l.queue.update.left > 0 }

// refresh brings everything that depends on the marked lanes and queues up to
// date: their places in the trees, the reads and the requests of permits that
// they need, and their wake-ups.
func (pl *Planner) refresh(now task.Millis) {
	if len(pl.lanesChanged)+len(pl.queuesChanged) == 0 {
		return
	}
	for i, l := range pl.lanesChanged {
		pl.lanesChanged[i] = nil
		if l.marked = false; !l.gone {
			pl.refreshLane(l, now)
		}
	}
	for i, q := range pl.queuesChanged {
		pl.queuesChanged[i] = nil
		if q.marked = false; !q.gone {
			pl.refreshQueue(q, now)
		}
	}
	pl.lanesChanged, pl.queuesChanged = pl.lanesChanged[:0], pl.queuesChanged[:0]
	if pl.slotFreed {
		pl.slotFreed = false
		pl.freed()
	}
	until := pl.choose.quarantine.until
	if until <= pl.monotonic {
		until = 0
	}
	pl.arm(&pl.choose.quarantine.wakeup, 0, until)
}

func (pl *Planner) refreshLane(l *lane, now task.Millis) {
	l.emptied = 0
	if l.refit {
		l.refit = false
		pl.window.refit(l, now)
	}
	state, wake := idle, task.Millis(0)
	switch {
	case l.order.len() == 0:
	case l.earliest() > now:
		state, wake = waiting, l.earliest()
	case l.schedules():
		state = ready
	default:
		state = ready
		if by, _ := pl.blocks(l); by != noLimit {
			state, l.rests = blocked, by == LimitUnsent
		}
	}
	pl.arm(&l.wakeup, wake, 0)
	if l.schedules() {
		pl.putSchedules(l, state)
		return
	}
	pl.choose.putLane(l, state, pl.monotonic)
	pl.considerRequest(l.queueDestination.lease)
	pl.markQueue(l.queue)
}

func (pl *Planner) refreshQueue(q *queue, now task.Millis) {
	g, waits := q.gate(pl.monotonic), q.needsToken()
	obstacle := q.held || !g.hand || waits && !g.routine
	if q.hasObstacle && !obstacle {
		q.obstacleEnded = pl.monotonic
	}
	q.hasObstacle = obstacle
	switch until := q.settings.PausedUntil; {
	case !q.held && waits:
		pl.arm(&q.wakeup, 0, g.next)
	case !q.held:
		pl.arm(&q.wakeup, 0, 0)
	case until > now:
		pl.arm(&q.wakeup, until, 0)
	}
	pl.choose.putQueue(q, g)
	pl.considerRequest(q.lease)
}

// Wakeup is a moment at which the Planner must be called. It is a time of the
// wall clock if a task becomes due, and of the monotonic clock if a wait ends.
// The caller keeps a timer for each Wakeup, and calls Wake when the timer
// fires.
type Wakeup struct {
	owner     any           // a *lane, *queue, *destination or *LimitLease; nil: the quarantine slot
	Wall      task.Millis   // zero means not on this clock
	Monotonic time.Duration // zero means not on this clock

	dirty bool   // the moment has changed; it is in Planner.wakeups
	Timer uint64 // for the caller: the number of the timer that is set for the moment
}

// IsSet reports whether w has a moment; if not, its timer must be removed.
func (w *Wakeup) IsSet() bool { return w.Wall != 0 || w.Monotonic != 0 }

// arm sets the moment of w. If both times are 0, w has no moment.
func (pl *Planner) arm(w *Wakeup, wall task.Millis, monotonic time.Duration) {
	if w.Wall == wall && w.Monotonic == monotonic {
		return
	}
	w.Wall, w.Monotonic = wall, monotonic
	if !w.dirty {
		w.dirty = true
		pl.wakeups = append(pl.wakeups, w)
	}
}

// Wake must be called when the timer of w has fired. An early call does no
// harm, and a late one only delays tasks.
func (pl *Planner) Wake(w *Wakeup, now task.Millis) {
	if !w.IsSet() {
		return
	}
	w.Wall, w.Monotonic = 0, 0 // the caller has no timer for w any more
	switch owner := w.owner.(type) {
	case *lane: // its first task is due
		pl.mark(owner, false)
	case *queue: // it has a token again, or its pause ends
		pl.checkHold(owner, now)
	case *destination: // a wait ends
		pl.reopen(owner)
	case *LimitLease:
		pl.wakeLease(owner)
	}
}

// wakeLease removes the permits of a lease that has ended, and marks it, so
// that refresh considers a request.
func (pl *Planner) wakeLease(l *LimitLease) {
	if !l.lives(pl.monotonic) && l.until.Load() != 0 {
		l.expire()
	}
	pl.markLease(l)
}
