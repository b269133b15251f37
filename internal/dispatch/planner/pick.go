package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Pick is a task that must be claimed now. It holds a slot and reserves a token
// of its queue. A task that was run by hand needs no token: it ignores the
// rate.
type Pick struct {
	Key           task.Key
	Due           task.Millis
	ReceiverDelay time.Duration // how long only the receiver has delayed the task: see task.Outcome
	Waited        time.Duration // see waited

	lane  *lane
	probe uint64 // the number of the pick; zero means that the result of the attempt decides about no breaker
	mark  uint64 // valid after Begin; it belongs to the lease of the queue if charges is set, otherwise to the bucket

	// shared holds the leases of the queue and of its destination. Nil means
	// that nodes share no such limit.
	shared [2]*LimitLease

	picked  time.Duration // when it was picked, on the monotonic clock
	class   class         // the class of its destination at the pick
	began   bool          // its claim was granted, and the token charged
	permit  bool          // it needs a permit of its queue
	charges bool          // its token comes from the lease, not from the bucket
}

// Lane returns the lane of the task. It can be called at any time. The name is
// not a field because a copy would double the size of a pick.
func (p *Pick) Lane() task.Lane { return p.lane.name }

// first returns the lane that is served next, or nil if there is none.
func (pl *Planner) first() *lane {
	l := pl.search()
	if pl.short && l != nil {
		pl.slotSince = pl.monotonic
	}
	pl.short = l == nil && pl.startable.size+pl.quarantine.queues.size > 0
	return l
}

// search is first without a record of the result.
func (pl *Planner) search() *lane {
	left := pl.left()
	if l := pl.quarantine.first(&left); l != nil {
		return l
	}
	t := pl.startable.first(&left)
	if t == nil {
		return nil
	}
	t.owner.divide(&left)
	return t.owner.queues.first(&left).owner.first(&left)
}

// left returns how many slots are left to each class, and the share of one
// namespace.
func (pl *Planner) left() cost {
	left := pl.slots.left()
	if left.slots[proven] == 0 || pl.startable.size == 0 {
		return left
	}
	left.slots[share] = int32(pl.slots.shared() / pl.startable.size)
	if pl.startable.size == 1 && pl.startable.root.owner.queues.size == 1 {
		left.slots[share] /= 2
	}
	return left
}

// rank returns the rank of a ready lane in its queue and priority.
//
// The lane that has waited longest comes first. The wait begins when its first
// task is due, or when the lane was last served, if that was later. So lanes
// with a backlog take turns, and a task that becomes due now waits for one turn
// of each such lane. In a queue with a rate only the due time counts: such a
// queue is first in, first out.
func (l *lane) rank() rank {
	since := l.earliest()
	if !l.queue.bucket.limited() {
		since = max(since, l.served)
	}
	return rank{since: int64(since), lastPick: l.lastPick, number: l.number}
}

// Take returns at most limit tasks that are due and can start now, in the order
// in which their lanes are served. Each holds a slot until Release.
func (pl *Planner) Take(now task.Millis, limit int) []Pick {
	var picks []Pick
	for checks := limit + pl.pieces; len(picks) < limit && checks > 0; checks-- {
		l := pl.first()
		if l == nil {
			break
		}
		if pl.moved(l, now) {
			continue
		}
		picks = append(picks, pl.pick(l, now))
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
	pl.place(l, now)
	return l.state != ready || l.node.cost != was
}

// pick takes the first task of l, which must be ready.
func (pl *Planner) pick(l *lane, now task.Millis) Pick {
	it, q, t := l.order.min(), l.queue, l.destination
	p := Pick{
		Key:           task.Key{Namespace: l.name.Namespace, Name: it.name},
		Due:           it.due,
		ReceiverDelay: t.delayedFor(max(q.free, pl.storeFailedAt), pl.monotonic),
		Waited:        pl.waited(l, now.Sub(it.due)),
		lane:          l, class: t.class, picked: pl.monotonic,
	}
	pl.forget(l, it)
	pl.taken[p.Key] = false
	pl.slots.take(t.class)
	q.tried[t.class]++
	if p.shared = [2]*LimitLease{q.lease, l.queueDestination.lease}; q.lease != nil {
		p.permit, p.charges = q.lease.limit() > 0, q.lease.rated() && !l.urgent()
	}
	if !l.urgent() {
		*p.reserved()++
	}
	q.running++
	l.queueDestination.running++
	t.running++
	l.running++
	pl.served(l, now)
	pl.countKind(t, 1)
	if l.quarantined() {
		pl.quarantine.enter(q)
	}
	if t.breaker.open && !l.urgent() {
		p.probe, t.breaker.probe = pl.picks, pl.picks
		pl.redo(&t.update, now)
	}
	pl.replace(l, now)
	if l.behind && pl.needsMore(l, now) {
		pl.requestRead(l, l.next())
	}
	return p
}

// Answered records that the store has replied to the claim of a picked task.
// Until the reply, and in reads that were under way when it came, the store can
// still report the task as waiting.
func (pl *Planner) Answered(k task.Key) { pl.taken[k] = true }

// Begin records that the claim of a pick was granted, and that its attempt
// starts.
func (pl *Planner) Begin(p *Pick) {
	p.began = true
	if p.lane.quarantined() {
		pl.beginQuarantined(p.Key)
	}
	if p.lane.urgent() {
		return
	}
	if p.charges {
		p.mark = p.shared[0].charge(pl.monotonic)
		pl.considerRequest(p.shared[0])
		return
	}
	p.mark = p.lane.queue.bucket.charge(pl.monotonic)
}

// reserved returns the counter of tokens reserved by picks.
func (p *Pick) reserved() *int {
	if p.charges {
		return &p.shared[0].reserved
	}
	return &p.lane.queue.bucket.reserved
}

// Permitted reports whether the leases of p's permits still hold. Unlike all
// other methods it can be called at any time, by any goroutine: see
// LimitLease.until.
func (p *Pick) Permitted(now time.Duration) bool {
	q, o := p.shared[0], p.shared[1]
	return (!p.permit || q.lives(now)) && (o == nil || o.lives(now))
}

// Covered reports whether the leases still allow p to begin. It must be called
// after the claim was granted, because a lease can end during the claim.
func (pl *Planner) Covered(p *Pick) bool {
	return p.Permitted(pl.monotonic) && (!p.charges || p.shared[0].covers(pl.monotonic))
}

// Release releases the slot, permits and reservations of a pick. cause is the
// outcome of its attempt, or nil if no attempt began. If the receiver's breaker
// changes, the BreakerChange contains cause.
func (pl *Planner) Release(p *Pick, now task.Millis, e Evidence, cause *task.Outcome) {
	l, q, t := p.lane, p.lane.queue, p.lane.destination
	pl.slots.adjustAllowance(l, e)
	pl.slots.give(p.class)
	if l.quarantined() {
		pl.endQuarantined()
	}
	q.tried[p.class]--
	switch {
	case l.urgent():
	case !p.began:
		*p.reserved()--
	case p.charges:
		p.shared[0].end(p.mark, e == Unsent)
	default:
		q.bucket.end(p.mark, e == Unsent)
	}
	q.running--
	l.queueDestination.running--
	t.running--
	l.running--
	pl.countKind(t, -1)
	before := t.breaker
	if t.recordAttempt(p, e, pl.monotonic, pl.config) {
		pl.recordBreakerChange(t, before, cause)
		pl.reopen(t, now)
	}
	pl.replace(l, now)
	pl.freed()
}

// Slow applies a Retry-After: in its reply to p's attempt, the receiver asked
// for a pause of wait. Tasks that were run by hand are not delayed.
func (pl *Planner) Slow(p *Pick, now task.Millis, wait time.Duration) {
	t := p.lane.destination
	if until := pl.monotonic + wait; wait > 0 && until > t.retryAt {
		t.postpone(p.picked, pl.monotonic, until)
		pl.reopen(t, now)
	}
}

// Rest stops all attempts to p's destination for wait, even of tasks that were
// run by hand.
func (pl *Planner) Rest(p *Pick, now task.Millis, wait time.Duration) {
	t := p.lane.destination
	if until := pl.monotonic + wait; until > t.rested {
		t.rested = until
		pl.reopen(t, now)
	}
}

// reopen updates the lanes of a destination after a change of its waits or its
// breaker. The update can be done in pieces.
func (pl *Planner) reopen(t *destination, now task.Millis) {
	pl.arm(&t.wakeup, 0, t.next(pl.monotonic))
	pl.redo(&t.update, now)
}

// wake is called when a wait of t ends.
func (t *destination) wake(pl *Planner, now task.Millis) { pl.reopen(t, now) }

// wake is called when the first task of l is due.
func (l *lane) wake(pl *Planner, now task.Millis) {
	if l.state == waiting {
		pl.place(l, now)
	}
}

func (pl *Planner) placeAll(lanes []*lane, now task.Millis) {
	for _, l := range lanes {
		pl.place(l, now)
	}
}

// replace places l again after it has started or ended an attempt. If the queue
// has a limit per destination, replace does the same for the lanes that share
// that limit with l.
func (pl *Planner) replace(l *lane, now task.Millis) {
	if l.queue.settings.PerDestination > 0 {
		pl.placeAll(l.queueDestination.lanes, now)
		return
	}
	pl.place(l, now)
}

// blocks returns why l must wait, and the end of that wait; zero means unknown.
// Reasons that also concern other lanes of its queue are not counted.
func (pl *Planner) blocks(l *lane) (by Limit, until time.Duration) {
	if by, until = l.destination.blocks(l, pl.monotonic); by != NoLimit {
		return by, until
	}
	switch limit, o := l.queue.settings.PerDestination, l.queueDestination; {
	case limit > 0 && (o.running >= limit || o.lease != nil && o.lease.full(pl.monotonic)):
		return LimitPerDestination, 0
	case l.running >= pl.slots.most(l.destination.class):
		return LimitSlots, 0
	}
	return NoLimit, 0
}

// place sets the state, the rank and the wake-up of l after any change.
func (pl *Planner) place(l *lane, now task.Millis) {
	if l.schedules() {
		pl.placeSchedules(l, now)
		return
	}
	before, was, wake := l.state, l.busy(), task.Millis(0)
	l.emptied = 0
	switch {
	case l.order.len() == 0:
		l.state = idle
	case l.earliest() > now:
		l.state, wake = waiting, l.earliest()
		if (l.queue.lease != nil || l.queueDestination.lease != nil) && !pl.dueSoon(l, now) {
			wake = wake.Add(-requestAhead)
		}
	default:
		l.state = ready
		if by, _ := pl.blocks(l); by != NoLimit {
			l.state, l.rests = blocked, by == LimitUnsent
		}
	}
	if l.state == ready && before != ready {
		l.readySince = pl.monotonic
	}
	if before == blocked && l.state != blocked && !l.rests {
		l.opened = pl.monotonic
	}
	if is := l.busy(); is != was {
		by := 1
		if was {
			by = -1
		}
		pl.noteBusy(l, by)
	}
	need := neverFits
	if l.state == ready {
		need = pl.slots.cost(l)
	}
	l.queue.bands[l.name.Priority].lanes.put(&l.node, l.rank(), need)
	pl.arm(&l.wakeup, wake, 0)
	pl.reposition(l.queue)
	if l.queueDestination.lease != nil {
		pl.considerRequest(l.queueDestination.lease)
	}
}
