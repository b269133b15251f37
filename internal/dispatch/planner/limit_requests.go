package planner

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// newLimitLease returns a lease that holds no permits yet.
func newLimitLease(q *queue, destination string, o *queueDestination) *LimitLease {
	s := &LimitLease{scope: store.PermitScope{Namespace: q.key.namespace, Queue: q.key.name, Destination: destination}, queue: q, destination: o, share: -1}
	s.wakeup.owner = s
	return s
}

// leaseLimits creates the leases that the limits of q and its destinations
// need. If a limit was removed, its permits are held until their lease ends.
func (pl *Planner) leaseLimits(q *queue) {
	if !pl.config.Shared {
		return
	}
	switch limited := q.settings.Concurrency > 0 || q.settings.Rate > 0; {
	case limited && q.lease == nil:
		q.lease = newLimitLease(q, "", nil)
	case !limited && q.lease != nil:
		pl.dropLease(q.lease)
		q.lease = nil
	case limited:
		pl.requestNow(q.lease) // the limits may have changed
	}
	for destination, o := range q.destinations {
		pl.leaseDestination(q, destination, o)
	}
}

func (pl *Planner) leaseDestination(q *queue, destination string, o *queueDestination) {
	switch limited := pl.config.Shared && q.settings.PerDestination > 0; {
	case limited && o.lease == nil:
		o.lease = newLimitLease(q, destination, o)
	case !limited && o.lease != nil:
		pl.dropLease(o.lease)
		o.lease = nil
	case limited:
		pl.requestNow(o.lease)
	}
}

// dropLease stops the wake-up of s. s can be nil.
func (pl *Planner) dropLease(s *LimitLease) {
	if s != nil {
		pl.arm(&s.wakeup, 0, 0)
	}
}

// requestNow makes s ask as soon as possible.
func (pl *Planner) requestNow(s *LimitLease) {
	switch {
	case s.asking:
		s.hinted = true
	case !s.pending:
		s.pending = true
		pl.pending = append(pl.pending, s)
	}
}

// HintPermits makes the leases of these scopes ask again. Another node has
// released permits, or waits for permits that this node holds.
func (pl *Planner) HintPermits(scopes []store.PermitScope) {
	for _, scope := range scopes {
		q := pl.queues[queueKey{scope.Namespace, scope.Queue}]
		if q == nil {
			continue
		}
		s := q.lease
		if scope.Destination != "" {
			s = nil
			if o := q.destinations[scope.Destination]; o != nil {
				s = o.lease
			}
		}
		if s != nil {
			pl.requestNow(s)
		}
	}
}

// considerRequest decides after each change whether a request is useful now. It
// sets the wake-up for the time when a request is due in any case.
func (pl *Planner) considerRequest(s *LimitLease) {
	if s.pending {
		return
	}
	next, until := s.next(), time.Duration(s.until.Load())
	switch {
	case s.asking:
		next = 0
	case next != 0 && next <= pl.monotonic, pl.lacksPermits(s) && !s.backsOff, s.hasSurplus(), s.exhausted() && pl.lacksPermits(s), pl.stopping && s.hasLeftover():
		pl.requestNow(s)
		next = 0
	}
	if until != 0 && (next == 0 || until < next) {
		next = until
	}
	pl.arm(&s.wakeup, 0, next)
}

// lacksPermits reports whether more permits or tokens would let a task start.
// If only a slot is missing, s is registered for freed, because no other event
// might trigger a check.
func (pl *Planner) lacksPermits(s *LimitLease) bool {
	switch {
	case pl.stopping || !pl.needsPermits(s):
		return false
	case pl.slots.anyFree(pl.costOf(s)):
		return true
	case !s.needsSlot:
		s.needsSlot = true
		pl.needSlot = append(pl.needSlot, s)
	}
	return false
}

// costOf returns the smallest cost of all lanes that s limits and that could
// start.
func (pl *Planner) costOf(s *LimitLease) cost {
	n := neverFits
	if s.destination == nil {
		for p := range s.queue.bands {
			n.lower(s.queue.bands[p].lanes.minCost())
		}
		return n
	}
	for _, l := range s.destination.lanes {
		least := pl.slots.least(l)
		n.lower(&least)
	}
	return n
}

func (pl *Planner) needsPermits(s *LimitLease) bool {
	soon := s.foreseen > pl.monotonic
	if s.destination != nil {
		return s.destination.running >= s.held && s.held < s.limit() && (soon || s.destination.waits())
	}
	q := s.queue
	hand, routine := q.bands[task.RunNow].lanes.size > 0, !q.holds(task.Normal) && (soon || q.needsToken())
	if s.rated() && routine && s.tokens-s.reserved <= s.low && (s.reserved == 0 || s.tokens > s.reserved) && (q.settings.Concurrency == 0 || q.running < q.settings.Concurrency) {
		return true
	}
	return s.limit() > 0 && (hand || routine) && q.running >= s.held && s.held < s.limit()
}

// freed rechecks the leases that did not ask because no slot was free. Each of
// them asks once, for enough permits to use the slot, and pauses afterwards. So
// this costs little.
func (pl *Planner) freed() {
	some := pl.needSlot
	pl.needSlot = nil
	for _, s := range some {
		s.needsSlot = false
		if s.queue.lease == s || s.destination != nil && s.destination.lease == s {
			pl.considerRequest(s)
		}
	}
}

// hasSurplus reports whether s has free permits that other nodes wait for.
func (s *LimitLease) hasSurplus() bool { return s.share >= 0 && s.held > max(s.share, s.running()) }

// hasLeftover reports whether s has permits to return, or a use to report,
// after Stop.
func (s *LimitLease) hasLeftover() bool {
	return s.held > s.running() || s.tokens > s.reserved || s.exhausted()
}

// exhausted reports whether the last token was used and its use is not reported
// to the store yet. Until that report, other nodes or this one can miss tokens.
func (s *LimitLease) exhausted() bool { return s.tokens < 1 && s.used > s.reported }

// waits reports whether a lane of o has a task that is due.
func (o *queueDestination) waits() bool { return slices.ContainsFunc(o.lanes, (*lane).busy) }

// dueSoon reports whether the first task of l, which is not due yet, is due
// within requestAhead. If so, it records the expected work in the leases of l.
func (pl *Planner) dueSoon(l *lane, now task.Millis) bool {
	wait := l.earliest().Sub(now)
	if wait > requestAhead {
		return false
	}
	if l.foreseen == l.earliest() {
		return true
	}
	l.foreseen = l.earliest()
	for _, s := range [...]*LimitLease{l.queue.lease, l.queueDestination.lease} {
		if s == nil {
			continue
		}
		if s.foreseen <= pl.monotonic {
			s.coming = 0
		}
		s.foreseen = max(s.foreseen, pl.monotonic+wait)
		s.coming += l.dueBy(l.earliest().Add(requestAhead), mostAsked)
		pl.considerRequest(s)
	}
	return true
}

// countStartable returns how many tasks could start now or soon if the limits
// of s allowed it. It stops counting at mostAsked and at the number of free
// slots.
func (pl *Planner) countStartable(s *LimitLease, now task.Millis) int {
	if pl.stopping {
		return 0
	}
	n, most := 0, min(pl.slots.free+pl.slots.freeHandlers(), mostAsked)
	if s.foreseen > pl.monotonic {
		n = s.coming
	}
	count := func(l *lane) bool {
		n += l.dueBy(now, most-n)
		return n < most
	}
	switch {
	case s.destination != nil:
		for _, l := range s.destination.lanes {
			if by, _ := l.destination.blocks(l, pl.monotonic); l.busy() && by == NoLimit && !count(l) {
				break
			}
		}
	default:
		for p := range s.queue.bands {
			s.queue.bands[p].lanes.walk(count)
		}
	}
	return max(min(n, most), 0)
}

// Asks returns at most limit requests, and the lease of each.
func (pl *Planner) Asks(now task.Millis, limit int) ([]*LimitLease, []store.PermitAsk) {
	n := min(len(pl.pending), limit)
	if n == 0 {
		return nil, nil
	}
	leases, asks := pl.pending[:n:n], make([]store.PermitAsk, n)
	pl.pending = pl.pending[n:]
	pl.asking += n
	for i, s := range leases {
		asks[i] = pl.ask(s, now)
	}
	return leases, asks
}

// Quiet reports whether no request for a part of a limit is pending or under
// way.
func (pl *Planner) Quiet() bool { return pl.asking == 0 && len(pl.pending) == 0 }

// Stop lets no more tasks start. Unused permits and tokens are returned.
func (pl *Planner) Stop() {
	pl.stopping = true
	for _, q := range pl.queues {
		pl.reposition(q)
		for _, o := range q.destinations {
			if o.lease != nil {
				pl.considerRequest(o.lease)
			}
		}
	}
}

// ask returns the request of s. Permits that the request returns are not held
// from now on.
func (pl *Planner) ask(s *LimitLease, now task.Millis) store.PermitAsk {
	q, due := s.queue.settings, pl.countStartable(s, now)
	if pl.lacksPermits(s) {
		due = max(due, 1) // otherwise s would ask again immediately
	}
	if !s.lives(pl.monotonic) {
		s.expire()
	}
	s.pending, s.asking, s.hinted, s.reported, s.requested = false, true, false, s.used, [2]int{}
	s.mark++
	ask := store.PermitAsk{PermitScope: s.scope, Concurrency: s.limit(), Used: s.used, UsedAgo: pl.monotonic - s.usedAt}
	if s.rated() {
		ask.Rate, ask.Burst, ask.Tokens = q.Rate, q.BurstOrDefault(), s.reserved+min(due, q.BurstOrDefault())
		s.tokens = min(s.tokens, ask.Tokens)
		due = min(due, max(s.tokens, int(q.Rate*keepPermits.Seconds())+1))
	}
	if ask.Concurrency > 0 {
		running := s.running()
		ask.Want = min(s.demand(running+due, pl.monotonic), ask.Concurrency)
		if pl.stopping {
			ask.Want = running
		}
		keep := min(s.held, ask.Want)
		if s.share >= 0 {
			keep = min(keep, s.share)
		}
		s.held = min(s.held, max(keep, running))
		ask.Keep, ask.Want = s.held, max(ask.Want, min(s.held, running))
	}
	s.requested = [2]int{ask.Want, ask.Tokens}
	pl.leaseChanged(s, now)
	return ask
}

// Granted applies the reply to a request that was sent at start.
func (pl *Planner) Granted(s *LimitLease, r store.PermitReply, start time.Duration, now task.Millis) {
	pl.asking--
	s.asking, s.replied = false, pl.monotonic
	if r.Err != nil {
		s.askAt, s.backsOff = pl.monotonic+firstAskWait<<min(s.failing, 4), true
		s.failing++
		pl.leaseChanged(s, now)
		return
	}
	s.failing = 0
	s.until.Store(int64(start + r.Lease))
	s.renew = start + r.Lease/3
	s.held, s.share = r.Held, r.Share
	s.tokens = r.Tokens - int(s.used-s.reported) // negative if the store had already withdrawn the tokens
	s.after, s.low = pl.monotonic+r.After, max(s.tokens-s.reserved, 0)/2
	s.askAt, s.backsOff = 0, false
	if r.Again > 0 {
		s.askAt, s.backsOff = pl.monotonic+r.Again, r.Held < s.requested[0] || r.Tokens < s.requested[1]
	}
	if s.hinted {
		pl.requestNow(s)
	}
	pl.leaseChanged(s, now)
}

// leaseChanged places the lanes again after a change of the permits of s.
func (pl *Planner) leaseChanged(s *LimitLease, now task.Millis) {
	switch {
	case s.destination == nil && s.queue.lease == s:
		pl.reposition(s.queue)
	case s.destination != nil && s.destination.lease == s:
		pl.placeAll(s.destination.lanes, now)
		pl.considerRequest(s)
	}
}

// wake is called when s must ask or its lease has ended.
func (s *LimitLease) wake(pl *Planner, now task.Millis) {
	if !s.lives(pl.monotonic) && s.until.Load() != 0 {
		s.expire()
		pl.leaseChanged(s, now)
		return
	}
	pl.considerRequest(s)
}
