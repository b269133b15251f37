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
	// firstAskWait is the wait before a failed request is repeated, the first
	// time.
	firstAskWait = 50 * time.Millisecond
	// mostAsked is the most that one request may ask for: due tasks are
	// counted.
	mostAsked = 4096

	nowhen = time.Duration(math.MaxInt64)
)

// LimitLease is this node's part of the limits of a queue, or of one
// destination of a queue, if nodes share them: see store.PermitStore. Queues
// without limits have no lease; neither do single-node stores.
//
// Held permits and tokens count until the lease ends. The lease is counted from
// before the request was sent, so it ends here before other nodes may use them.
// Permits that a request gives back are given up before it is sent. Permits
// that it gains count from the reply on.
type LimitLease struct {
	scope       store.PermitScope
	queue       *queue
	destination *queueDestination // nil: the lease is for the whole queue
	wakeup      Wakeup

	held  int // attempts that may be under way
	share int // held must fall to this because other nodes wait; -1: no other node waits

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
	askAt    time.Duration // when to ask again, from the last reply; 0: whenever it is useful
	backsOff bool          // the last request wanted more than there was: do not ask before askAt
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

// spent reports whether s has no permits to give back and no use to report.
func (s *LimitLease) spent() bool {
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

// full reports whether no more attempts may start.
func (s *LimitLease) full(now time.Duration) bool {
	most := s.held
	if s.share >= 0 {
		most = min(most, s.share)
	}
	return s.running() >= min(most, s.limit()) || !s.lives(now)
}

// token returns when there is a token, or nowhen if the store must grant one.
func (s *LimitLease) token(now time.Duration) time.Duration {
	switch n := s.tokens - s.reserved; {
	case n < 1 || !s.lives(now):
		return nowhen
	case n == 1 && s.after > now:
		return s.after
	}
	return now
}

// covers reports whether there is a token for a pick that reserved one, perhaps
// under an earlier lease.
func (s *LimitLease) covers(now time.Duration) bool {
	return s.lives(now) && (s.tokens > 1 || s.tokens == 1 && s.after <= now)
}

// charge uses the token that a pick has reserved. It returns the mark under
// which end may undo this.
func (s *LimitLease) charge(now time.Duration) uint64 {
	s.reserved--
	s.tokens--
	s.used++
	s.usedAt = now
	return s.mark
}

// end ends a start that was charged under mark. If the start was unsent, its
// token is available again, unless its use was already reported to the store:
// there the bucket has been refilling since that report, and the unreported
// uses belong to other, later starts.
func (s *LimitLease) end(mark uint64, unsent bool) {
	if unsent && mark == s.mark {
		s.used--
		s.tokens++
	}
}

// expire gives up all permits and tokens after the end of the lease. The reply
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

// next returns when s must ask, even if no other event comes. 0 means never.
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
