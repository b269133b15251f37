package planner

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store"
)

const (
	// requestAhead is how long before a task is due its permits are requested,
	// so that the round trip to the store does not make the task late.
	requestAhead = 25 * time.Millisecond
	// keepPermits is how long permits are kept for which no other node waits.
	// keepTokens is the same for tokens, and the longest delay before their use
	// is reported.
	keepPermits, keepTokens = time.Second, 50 * time.Millisecond
	// firstAskWait is the wait before the first repeat of a failed request.
	firstAskWait = 50 * time.Millisecond
	// mostAsked limits one request, because the due tasks must be counted for
	// it.
	mostAsked = 4096

	nowhen = time.Duration(math.MaxInt64)
)

// LimitLease is this node's part of the limits of a queue, or of one
// destination of a queue, if nodes share them: see store.PermitStore. Queues
// without limits have no lease; neither do single-node stores.
//
// Held permits and tokens count until the lease ends. The lease starts when the
// request is sent, not when the reply comes. So it ends on this node before any
// other node can get the permits. A permit that a request returns is not used
// after the request is built. A new permit is used only after the reply.
type LimitLease struct {
	scope       store.PermitScope
	queue       *queue
	destination *queueDestination // nil means that the lease is for the whole queue
	wakeup      Wakeup

	held  int // attempts that can be under way
	share int // the share of this node while other nodes wait, to which held must shrink; -1 means that no other node waits

	tokens   int           // available, reserved ones included
	reserved int           // reserved by picks
	after    time.Duration // when the last token becomes usable
	used     uint64        // tokens used since the lease was created
	mark     uint64        // changes with each request, which reports the tokens used before it
	usedAt   time.Duration // when the last token was used
	low      int           // request more when at most this many tokens are free

	// until is the end of the lease. The Planner writes it. An attempt reads it
	// before it writes its request. They share only this word.
	until    atomic.Int64
	renew    time.Duration
	askAt    time.Duration // when to ask again, from the last reply; zero means whenever it is useful
	backsOff bool          // the last reply granted less than the request, or failed: do not ask before askAt
	replied  time.Duration

	foreseen time.Duration // work is expected until then
	coming   int           // how many tasks are expected

	peaks  [2]int // the largest demand in this period and in the one before
	period time.Duration

	pending   bool // it is in Planner.pending
	needsSlot bool // it is in Planner.needSlot
	asking    bool
	hinted    bool   // a hint came while asking
	reported  uint64 // the value of used in the last request
	requested [2]int // permits and tokens in the last request
	failing   int    // failed requests in a row
}

// released reports whether s has no permits to return and no use to report.
func (s *LimitLease) released() bool {
	return s.held == 0 && s.tokens == 0 && s.used == s.reported && !s.asking && !s.pending
}

func (s *LimitLease) running() int {
	if s.destination != nil {
		return s.destination.running
	}
	return s.queue.running
}

// limit returns the limit of attempts under way, or 0 if there is none.
func (s *LimitLease) limit() int {
	if s.destination != nil {
		return s.queue.settings.PerDestination
	}
	return s.queue.settings.Concurrency
}

// rated reports whether s leases tokens of a rate.
func (s *LimitLease) rated() bool { return s.destination == nil && s.queue.settings.Rate > 0 }

func (s *LimitLease) lives(now time.Duration) bool { return int64(now) < s.until.Load() }

// full reports whether no more attempts can start.
func (s *LimitLease) full(now time.Duration) bool {
	most := s.held
	if s.share >= 0 {
		most = min(most, s.share)
	}
	return s.running() >= min(most, s.limit()) || !s.lives(now)
}

// token returns the time of the next token, or nowhen if the store must grant
// one.
func (s *LimitLease) token(now time.Duration) time.Duration {
	switch n := s.tokens - s.reserved; {
	case n < 1 || !s.lives(now):
		return nowhen
	case n == 1 && s.after > now:
		return s.after
	}
	return now
}

// covers reports whether the token that a pick reserved is still available. The
// pick may have reserved it under an earlier lease.
func (s *LimitLease) covers(now time.Duration) bool {
	return s.lives(now) && (s.tokens > 1 || s.tokens == 1 && s.after <= now)
}

// charge uses the token that a pick has reserved. It returns the mark under
// which end can undo this.
func (s *LimitLease) charge(now time.Duration) uint64 {
	s.reserved--
	s.tokens--
	s.used++
	s.usedAt = now
	return s.mark
}

// end ends a start that was charged under mark. If nothing was sent, the token
// becomes available again. That is not possible if its use was already
// reported, because the store's bucket has been refilling since the report. In
// that case s.mark differs from mark, and the unreported uses belong to later
// starts.
func (s *LimitLease) end(mark uint64, unsent bool) {
	if unsent && mark == s.mark {
		s.used--
		s.tokens++
	}
}

// expire removes all permits and tokens after the end of the lease. The reply
// to a request that is under way already includes the tokens used since that
// request.
func (s *LimitLease) expire() {
	s.held, s.tokens, s.share, s.askAt, s.backsOff = 0, 0, -1, 0, false
	if !s.asking {
		s.reported = s.used // the other nodes' parts no longer depend on ours
	}
	s.mark++
	s.until.Store(0)
}

// demand records that n attempts could be under way. If other nodes wait, it
// returns n. Otherwise it returns the largest demand of the recent past, so
// that small changes cause no requests.
func (s *LimitLease) demand(n int, now time.Duration) int {
	if d := now - s.period; d >= keepPermits/2 {
		s.peaks[1] = s.peaks[0]
		if d >= keepPermits {
			s.peaks[1] = 0
		}
		s.peaks[0], s.period = 0, now
	}
	s.peaks[0] = max(s.peaks[0], n)
	if s.share >= 0 {
		return n
	}
	return max(s.peaks[0], s.peaks[1])
}

// next returns when s must ask, even if no other event comes. Zero means never.
func (s *LimitLease) next() time.Duration {
	next := nowhen
	if s.held > 0 || s.tokens > 0 {
		next = s.renew
	}
	if s.askAt > 0 {
		next = min(next, s.askAt)
	}
	if s.tokens > s.reserved || s.used > s.reported {
		next = min(next, max(s.replied, s.usedAt)+keepTokens)
	}
	if s.held > s.running() {
		next = min(next, s.replied+keepPermits)
	}
	if next == nowhen {
		return 0
	}
	return next
}
