package planner

import (
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// requestNow makes a lease ask as soon as possible.
func (l *limits) requestNow(lease *LimitLease) {
	switch {
	case lease.asking:
		lease.hinted = true
	case !lease.pending:
		lease.pending = true
		l.pending = append(l.pending, lease)
	}
}

// leaseFor returns the lease for a queue or a destination: a new one if a limit
// was added, nil if the limit was removed. Permits of a limit that was removed
// are held until their lease ends. An existing lease asks again, because its
// limit can have changed.
func (pl *Planner) leaseFor(old *LimitLease, limited bool, q *queue, destination string, qd *queueDestination) *LimitLease {
	switch {
	case !limited || !pl.limits.shared:
		pl.dropLease(old)
		return nil
	case old != nil:
		pl.limits.requestNow(old)
		return old
	}
	l := &LimitLease{scope: store.PermitScope{Namespace: q.key.namespace, Queue: q.key.name, Destination: destination}, queue: q, destination: qd, share: -1}
	l.wakeup.owner = l
	return l
}

// leaseLimits gives q and its destinations the leases that the limits of q need.
func (pl *Planner) leaseLimits(q *queue) {
	q.lease = pl.leaseFor(q.lease, q.settings.Concurrency > 0 || q.settings.Rate > 0, q, "", nil)
	for destination, qd := range q.destinations {
		pl.leaseDestination(q, destination, qd)
	}
}

func (pl *Planner) leaseDestination(q *queue, destination string, qd *queueDestination) {
	qd.lease = pl.leaseFor(qd.lease, q.settings.PerDestination > 0, q, destination, qd)
}

// dropLease stops the wake-up of a lease, which can be nil.
func (pl *Planner) dropLease(l *LimitLease) {
	if l != nil {
		pl.arm(&l.wakeup, 0, 0)
	}
}

// HintPermits makes the leases of these scopes ask again, because another node
// has released permits, or waits for permits that this node holds.
func (pl *Planner) HintPermits(scopes []store.PermitScope) {
	for _, scope := range scopes {
		q := pl.queues[queueKey{scope.Namespace, scope.Queue}]
		if q == nil {
			continue
		}
		l := q.lease
		if scope.Destination != "" {
			l = nil
			if qd := q.destinations[scope.Destination]; qd != nil {
				l = qd.lease
			}
		}
		if l != nil {
			pl.limits.requestNow(l)
		}
	}
}

// considerRequest decides whether a request of l is useful now. It sets the
// wake-up for the next necessary request or for the end of the lease, whichever
// is first. l can be nil.
func (pl *Planner) considerRequest(l *LimitLease) {
	if l == nil || l.pending {
		return
	}
	next, until := l.next(), time.Duration(l.until.Load())
	switch {
	case l.asking:
		next = 0
	case next != 0 && next <= pl.monotonic, pl.lacksPermits(l) && !l.backsOff, l.hasSurplus(), l.exhausted() && pl.lacksPermits(l), pl.limits.stopping && l.hasLeftover():
		pl.limits.requestNow(l)
		next = 0
	}
	if until != 0 && (next == 0 || until < next) {
		next = until
	}
	pl.arm(&l.wakeup, 0, next)
}

// lacksPermits reports whether more permits or tokens would let a task start.
// If only a slot is missing, l is added to needSlot, because perhaps no other
// event would check it again.
func (pl *Planner) lacksPermits(l *LimitLease) bool {
	switch {
	case pl.limits.stopping || !l.needsPermits():
		return false
	case pl.choose.slots.anyFree(pl.costOf(l)):
		return true
	case !l.needsSlot:
		l.needsSlot = true
		pl.limits.needSlot = append(pl.limits.needSlot, l)
	}
	return false
}

// freed considers the leases that did not ask because no slot was free. Each
// lease asks once, for enough permits for the slot, and then waits for the
// reply, so this costs little.
func (pl *Planner) freed() {
	some := pl.limits.needSlot
	pl.limits.needSlot = nil
	for _, l := range some {
		if l.needsSlot = false; l.inUse() {
			pl.considerRequest(l)
		}
	}
}

// costOf returns the smallest cost of all lanes that l limits and that could
// start.
func (pl *Planner) costOf(l *LimitLease) cost {
	c := neverFits
	if l.destination == nil {
		for p := range l.queue.bands {
			c.lower(l.queue.bands[p].lanes.minCost())
		}
		return c
	}
	for _, lane := range l.destination.lanes {
		least := pl.choose.slots.least(lane)
		c.lower(&least)
	}
	return c
}

// countStartable returns how many tasks could start now if the limits of l allowed
// it. It stops counting at mostAsked and at the number of free slots.
func (pl *Planner) countStartable(l *LimitLease, now task.Millis) int {
	if pl.limits.stopping {
		return 0
	}
	n, most := 0, min(pl.choose.slots.free+pl.choose.slots.freeHandlers(), mostAsked)
	count := func(lane *lane) bool {
		n += lane.dueBy(now, most-n)
		return n < most
	}
	switch {
	case l.destination != nil:
		for _, lane := range l.destination.lanes {
			if by, _ := lane.destination.blocks(lane, pl.monotonic); lane.busy() && by == noLimit && !count(lane) {
				break
			}
		}
	default:
		for p := range l.queue.bands {
			l.queue.bands[p].lanes.walk(count)
		}
	}
	return max(min(n, most), 0)
}

// Asks returns at most limit requests, and the lease of each.
func (pl *Planner) Asks(now task.Millis, limit int) ([]*LimitLease, []store.PermitAsk) {
	pl.refresh(now)
	n := min(len(pl.limits.pending), limit)
	if n == 0 {
		return nil, nil
	}
	leases, asks := pl.limits.pending[:n:n], make([]store.PermitAsk, n)
	pl.limits.pending = pl.limits.pending[n:]
	pl.limits.asking += n
	for i, l := range leases {
		due := pl.countStartable(l, now)
		if pl.lacksPermits(l) {
			due = max(due, 1) // otherwise l would ask again immediately
		}
		asks[i] = l.ask(due, pl.limits.stopping, pl.monotonic)
		pl.markLease(l)
	}
	return leases, asks
}

// Granted applies the reply to a request that was sent at start.
func (pl *Planner) Granted(l *LimitLease, r store.PermitReply, start time.Duration) {
	pl.limits.asking--
	if l.granted(r, start, pl.monotonic) && l.hinted {
		pl.limits.requestNow(l)
	}
	pl.markLease(l)
}

// Quiet reports whether no request for a part of a limit is pending or under
// way.
func (pl *Planner) Quiet() bool { return pl.limits.asking == 0 && len(pl.limits.pending) == 0 }

// Stop makes the leases return unused permits and tokens: see Asks. Take must
// not be called after Stop.
func (pl *Planner) Stop() {
	pl.limits.stopping = true
	for _, q := range pl.queues {
		pl.markQueue(q)
		for _, qd := range q.destinations {
			pl.considerRequest(qd.lease)
		}
	}
}
