package planner

import "time"

// limits decides which attempts may start: the rates and concurrencies of
// queues, their parts of shared limits, and the delays and breakers of
// destinations. The state of each limit is in its queue, queueDestination or
// destination.
type limits struct {
	shared     bool          // nodes share the limits: see LimitLease
	breakAfter int           // failures in a row that open a breaker; zero means that breakers never open
	breakMost  time.Duration // the longest wait of a breaker

	broken   int             // number of destinations with a breaker that is not closed
	breakers []BreakerChange // for effects

	pending  []*LimitLease // leases that send a request next
	asking   int           // number of leases with a request under way
	needSlot []*LimitLease // leases that request permits when a slot becomes free
	stopping bool          // Stop was called
}

// gate describes the attempts that the limits of a queue allow now.
type gate struct {
	hand    bool          // tasks that were run by hand may start
	routine bool          // all other tasks may start too
	next    time.Duration // when routine may become true; zero means unknown
}

// gate returns the gate of q at now.
func (q *queue) gate(now time.Duration) gate {
	if q.stopped || q.full(now) {
		return gate{}
	}
	if q.held {
		return gate{hand: true}
	}
	switch at := q.token(now); {
	case at <= now:
		return gate{hand: true, routine: true}
	case at == nowhen:
		return gate{hand: true}
	default:
		return gate{hand: true, next: at}
	}
}

// token returns the time of q's next token. If q has a token, the result is not
// after now.
func (q *queue) token(now time.Duration) time.Duration {
	if q.lease != nil && q.lease.rated() {
		return q.lease.token(now)
	}
	return q.bucket.next(now)
}

// full reports whether q has as many attempts under way as its limits allow.
func (q *queue) full(now time.Duration) bool {
	c := q.settings.Concurrency
	return c > 0 && (q.running >= c || q.lease != nil && q.lease.full(now))
}

// blocks returns why l must wait, and the end of that wait; zero means unknown.
// It leaves out reasons that concern all lanes of the queue. most is the
// maximum number of attempts of l.
func (l *lane) blocks(most int, now time.Duration) (by Limit, until time.Duration) {
	if by, until = l.destination.blocks(l, now); by != noLimit {
		return by, until
	}
	switch limit, qd := l.queue.settings.PerDestination, l.queueDestination; {
	case limit > 0 && (qd.running >= limit || qd.lease != nil && qd.lease.full(now)):
		return LimitPerDestination, 0
	case l.running >= most:
		return LimitSlots, 0
	}
	return noLimit, 0
}
