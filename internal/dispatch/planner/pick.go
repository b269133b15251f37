package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Pick is a task that must be claimed now. It holds a slot and reserves a token
// of its queue. A task that was run by hand needs no token, because the rate
// does not apply.
type Pick struct {
	Key           task.Key
	Due           task.Millis
	ReceiverDelay time.Duration // how long only the receiver has delayed the task: see task.Outcome
	Waited        time.Duration // see waited

	lane  *lane
	probe uint64 // the number of the pick if its attempt is the probe of a breaker, otherwise zero

	// shared holds the leases of the queue and of its destination, where nil
	// means that nodes share no such limit.
	shared [2]*LimitLease

	picked  time.Duration // when it was picked, on the monotonic clock
	class   class         // the class of its destination at the pick
	began   bool          // its claim was granted, and the token charged
	permit  bool          // it needs a permit of its queue
	charges bool          // its token comes from the lease, not from the bucket
}

// Lane returns the lane of the task. It can be called by any goroutine at any
// time. The name is not a field, because a copy would double the size of a
// pick.
func (p *Pick) Lane() task.Lane { return p.lane.name }

// Take returns at most limit tasks that are due and can start now, in the order
// in which their lanes are served. Each holds a slot until Release.
func (pl *Planner) Take(now task.Millis, limit int) []Pick {
	var picks []Pick
	for checks := limit + pl.pieces; len(picks) < limit && checks > 0; checks-- {
		pl.refresh(now)
		l := pl.choose.first(pl.monotonic)
		if l == nil {
			break
		}
		if !pl.moved(l, now) {
			picks = append(picks, pl.pick(l, now))
		}
	}
	return picks
}

// moved reports whether l was in the wrong place, and corrects the place. It
// can be wrong if the wall clock stepped back, or if an update is unfinished.
func (pl *Planner) moved(l *lane, now task.Millis) bool {
	if l.earliest() <= now && !l.stale() {
		return false
	}
	was := l.node.cost
	pl.mark(l, false)
	pl.refresh(now)
	return l.state != ready || l.node.cost != was
}

// pick takes the first task of l, which must be ready.
func (pl *Planner) pick(l *lane, now task.Millis) Pick {
	q, d, it := l.queue, l.destination, l.order.min()
	p := Pick{
		Key:           task.Key{Namespace: l.name.Namespace, Name: it.name},
		Due:           it.due,
		ReceiverDelay: d.delayedFor(max(q.free, pl.storeFailedAt), pl.monotonic),
		Waited:        pl.choose.waited(l, now.Sub(it.due), pl.monotonic),
		lane:          l, class: d.class, picked: pl.monotonic,
		shared: [2]*LimitLease{q.lease, l.queueDestination.lease},
	}
	if q.lease != nil {
		p.permit, p.charges = q.lease.limit() > 0, q.lease.rated() && !l.urgent()
	}
	if !l.urgent() {
		*p.reserved()++
	}
	pl.window.takeFirst(l)
	pl.choose.start(l, now)
	if d.breaker.open && !l.urgent() {
		p.probe, d.breaker.probe = pl.choose.picks, pl.choose.picks
		pl.markAll(&d.update)
	}
	pl.markAttempt(l, true)
	return p
}

// Begin records that the claim of a pick was granted, and that its attempt starts.
// It returns false if the attempt must not start, because a lease of its permits or
// its token has ended during the claim.
func (pl *Planner) Begin(p *Pick) bool {
	if !p.Permitted(pl.monotonic) || p.charges && !p.shared[0].covers(pl.monotonic) {
		return false
	}
	p.began = true
	l := p.lane
	if l.quarantined() {
		pl.choose.quarantine.begin(p.Key, pl.monotonic)
		pl.markQueue(l.queue)
	}
	switch {
	case l.urgent():
	case p.charges:
		p.shared[0].charge(pl.monotonic)
		pl.markLease(p.shared[0])
	default:
		l.queue.bucket.charge(pl.monotonic)
	}
	return true
}

// reserved returns the counter of tokens reserved by picks.
func (p *Pick) reserved() *int {
	if p.charges {
		return &p.shared[0].reserved
	}
	return &p.lane.queue.bucket.reserved
}

// Permitted reports whether the leases of p's permits still hold. Like Lane, it
// can be called by any goroutine at any time: see LimitLease.until.
func (p *Pick) Permitted(now time.Duration) bool {
	q, qd := p.shared[0], p.shared[1]
	return (!p.permit || q.lives(now)) && (qd == nil || qd.lives(now))
}

// Release releases the slot, permits and reservations of a pick. cause is the
// outcome of its attempt, or nil if no attempt began. If the receiver's breaker
// changes, the BreakerChange contains cause.
func (pl *Planner) Release(p *Pick, e Evidence, cause *task.Outcome) {
	l, d := p.lane, p.lane.destination
	if !p.began && !l.urgent() {
		*p.reserved()--
	}
	pl.choose.end(l, p.class, e)
	if pl.limits.attempted(d, p, e, pl.monotonic, cause) {
		pl.reopen(d)
	}
	pl.markAttempt(l, false)
	pl.slotFreed = true
}

// Slow applies a Retry-After: in its reply to p's attempt, the receiver asked
// for a pause of wait, which does not delay tasks that were run by hand.
func (pl *Planner) Slow(p *Pick, wait time.Duration) {
	d := p.lane.destination
	if until := pl.monotonic + wait; wait > 0 && until > d.retryAt {
		d.postpone(p.picked, pl.monotonic, until)
		pl.reopen(d)
	}
}

// Rest stops all attempts to p's destination for wait, even of tasks that were
// run by hand.
func (pl *Planner) Rest(p *Pick, wait time.Duration) {
	d := p.lane.destination
	if until := pl.monotonic + wait; until > d.restUntil {
		d.restUntil = until
		pl.reopen(d)
	}
}

// reopen updates the lanes of a destination, perhaps in pieces, after a change
// of its waits or its breaker.
func (pl *Planner) reopen(d *destination) {
	pl.arm(&d.wakeup, 0, d.next(pl.monotonic))
	pl.markAll(&d.update)
}

// blocks returns why l must wait, and the end of that wait: see lane.blocks.
func (pl *Planner) blocks(l *lane) (by Limit, until time.Duration) {
	return l.blocks(pl.choose.slots.most(l.destination.class), pl.monotonic)
}
