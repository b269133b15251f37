package planner

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

const (
	// keepPermits is how long a node keeps unused permits if no other node
	// waits. keepTokens is that time for tokens, and their use is reported at
	// its end too.
	keepPermits, keepTokens = time.Second, 50 * time.Millisecond
	// firstAskWait is the wait before the first repeat of a failed request.
	firstAskWait = 50 * time.Millisecond
	// mostAsked bounds the due tasks for which one request asks, because they
	// must be counted.
	mostAsked = 4096

	nowhen = time.Duration(math.MaxInt64)
)

// LimitLease is this node's part of the limits of a queue, or of one
// destination of a queue, if nodes share them: see store.PermitStore. Queues
// without limits have no lease; neither do single-node stores.
//
// Held permits and tokens count until the lease ends. The lease starts when the
// request is sent, not when the reply comes, so it ends on this node before any
// other node can get the permits. A permit that a request returns is not used
// after the request is built, and a new permit is not used before the reply.
type LimitLease struct {
	scope       store.PermitScope
	queue       *queue
	destination *queueDestination // nil means that the lease is for the whole queue
	wakeup      Wakeup

	held  int // attempts that can be under way
	share int // the most permits that this node may hold while other nodes wait; -1 means that none waits

	tokens   int           // available, reserved ones included
	reserved int           // reserved by picks
	after    time.Duration // when the last token becomes usable
	used     uint64        // tokens used since the lease was created
	usedAt   time.Duration // when the last token was used
	low      int           // request more when at most this many tokens are free

	// until is the end of the lease. Only the Planner writes it. An attempt
	// reads it directly before it sends its request, and they share no other
	// field.
	until    atomic.Int64
	renew    time.Duration
	askAt    time.Duration // when to ask again, from the last reply; zero means whenever it is useful
	backsOff bool          // the last request failed or was granted only in part, so the next one waits for askAt
	replied  time.Duration

	pending   bool // it is in limits.pending
	needsSlot bool // it is in limits.needSlot
	asking    bool
	hinted    bool   // a hint came while asking
	reported  uint64 // the value of used in the last request
	requested [2]int // permits and tokens in the last request
	failing   int    // failed requests in a row
}

// released reports whether l has no permits to return and no use to report.
func (l *LimitLease) released() bool {
	return l.held == 0 && l.tokens == 0 && l.used == l.reported && !l.asking && !l.pending
}

func (l *LimitLease) running() int {
	if l.destination != nil {
		return l.destination.running
	}
	return l.queue.running
}

// limit returns the limit of attempts under way, or 0 if there is none.
func (l *LimitLease) limit() int {
	if l.destination != nil {
		return l.queue.settings.PerDestination
	}
	return l.queue.settings.Concurrency
}

// rated reports whether l leases tokens of a rate.
func (l *LimitLease) rated() bool { return l.destination == nil && l.queue.settings.Rate > 0 }

func (l *LimitLease) lives(now time.Duration) bool { return int64(now) < l.until.Load() }

// full reports whether no more attempts can start.
func (l *LimitLease) full(now time.Duration) bool {
	most := l.held
	if l.share >= 0 {
		most = min(most, l.share)
	}
	return l.running() >= min(most, l.limit()) || !l.lives(now)
}

// token returns the time of the next token, or nowhen if the store must grant
// one.
func (l *LimitLease) token(now time.Duration) time.Duration {
	switch n := l.tokens - l.reserved; {
	case n < 1 || !l.lives(now):
		return nowhen
	case n == 1 && l.after > now:
		return l.after
	}
	return now
}

// covers reports whether the token that a pick reserved is still available. The
// pick may have reserved it under an earlier lease.
func (l *LimitLease) covers(now time.Duration) bool {
	return l.lives(now) && (l.tokens > 1 || l.tokens == 1 && l.after <= now)
}

// charge uses the token that a pick has reserved.
func (l *LimitLease) charge(now time.Duration) {
	l.reserved--
	l.tokens--
	l.used++
	l.usedAt = now
}

// expire removes all permits and tokens after the end of the lease. The reply
// to a request under way still counts tokens that were used meanwhile, so
// granted subtracts them, and reported must not change.
func (l *LimitLease) expire() {
	l.held, l.tokens, l.share, l.askAt, l.backsOff = 0, 0, -1, 0, false
	if !l.asking {
		l.reported = l.used // no report is needed: the store can already have given this part to other nodes
	}
	l.until.Store(0)
}

// next returns when l must ask, even if no other event comes. Zero means never.
func (l *LimitLease) next() time.Duration {
	next := nowhen
	if l.held > 0 || l.tokens > 0 {
		next = l.renew
	}
	if l.askAt > 0 {
		next = min(next, l.askAt)
	}
	if l.tokens > l.reserved || l.used > l.reported {
		next = min(next, max(l.replied, l.usedAt)+keepTokens)
	}
	if l.held > l.running() && (l.running() == 0 || l.share >= 0) { // otherwise ask would keep them
		next = min(next, l.replied+keepPermits)
	}
	if next == nowhen {
		return 0
	}
	return next
}

// hasSurplus reports whether l has free permits that other nodes wait for.
func (l *LimitLease) hasSurplus() bool { return l.share >= 0 && l.held > max(l.share, l.running()) }

// hasLeftover reports whether l has permits to return, or a use to report,
// after Stop.
func (l *LimitLease) hasLeftover() bool {
	return l.held > l.running() || l.tokens > l.reserved || l.exhausted()
}

// exhausted reports whether the last token was used and its use is not reported
// to the store yet. Until that report, this node and others can get too few
// tokens.
func (l *LimitLease) exhausted() bool { return l.tokens < 1 && l.used > l.reported }

// inUse reports whether l is still the lease of its queue or destination.
func (l *LimitLease) inUse() bool {
	return l.queue.lease == l || l.destination != nil && l.destination.lease == l
}

// needsPermits reports whether a due task needs a permit or a token, or soon
// will. It does not check for a slot.
func (l *LimitLease) needsPermits() bool {
	if l.destination != nil {
		return l.destination.running >= l.held && l.held < l.limit() && slices.ContainsFunc(l.destination.lanes, (*lane).busy)
	}
	q := l.queue
	hand, routine := q.bands[task.RunNow].lanes.size > 0, !q.holds(task.Normal) && q.needsToken()
	if l.rated() && routine && l.tokens-l.reserved <= l.low && (l.reserved == 0 || l.tokens > l.reserved) && (q.settings.Concurrency == 0 || q.running < q.settings.Concurrency) {
		return true
	}
	return l.limit() > 0 && (hand || routine) && q.running >= l.held && l.held < l.limit()
}

// ask returns the next request of l, so that due more tasks can start. Permits
// that the request returns are not held from now on.
func (l *LimitLease) ask(due int, stopping bool, now time.Duration) store.PermitAsk {
	q := l.queue.settings
	if !l.lives(now) {
		l.expire()
	}
	l.pending, l.asking, l.hinted, l.reported, l.requested = false, true, false, l.used, [2]int{}
	ask := store.PermitAsk{PermitScope: l.scope, Concurrency: l.limit(), Used: l.used, UsedAgo: now - l.usedAt}
	if l.rated() {
		ask.Rate, ask.Burst, ask.Tokens = q.Rate, q.BurstOrDefault(), l.reserved+min(due, q.BurstOrDefault())
		l.tokens = min(l.tokens, ask.Tokens)
		due = min(due, max(l.tokens, int(q.Rate*keepPermits.Seconds())+1))
	}
	if ask.Concurrency > 0 {
		running := l.running()
		switch ask.Want = running + due; {
		case stopping:
			ask.Want = running
		case l.share < 0 && ask.Want > 0: // no other node waits, so small changes cause no request
			ask.Want = max(ask.Want, l.held)
		}
		ask.Want = min(ask.Want, ask.Concurrency)
		keep := min(l.held, ask.Want)
		if l.share >= 0 {
			keep = min(keep, l.share)
		}
		l.held = min(l.held, max(keep, running))
		ask.Keep, ask.Want = l.held, max(ask.Want, min(l.held, running))
	}
	l.requested = [2]int{ask.Want, ask.Tokens}
	return ask
}

// granted applies the reply to a request that was sent at start, and reports
// whether the store has replied.
func (l *LimitLease) granted(r store.PermitReply, start, now time.Duration) bool {
	l.asking, l.replied = false, now
	if r.Err != nil {
		l.askAt, l.backsOff = now+firstAskWait<<min(l.failing, 4), true
		l.failing++
		return false
	}
	l.failing = 0
	l.until.Store(int64(start + r.Lease))
	l.renew = start + r.Lease/3
	l.held, l.share = r.Held, r.Share
	l.tokens = r.Tokens - int(l.used-l.reported) // negative if the store had already withdrawn the tokens
	l.after, l.low = now+r.After, max(l.tokens-l.reserved, 0)/2
	l.askAt, l.backsOff = 0, false
	if r.Again > 0 {
		l.askAt, l.backsOff = now+r.Again, r.Held < l.requested[0] || r.Tokens < l.requested[1]
	}
	return true
}
