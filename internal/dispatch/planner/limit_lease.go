package planner

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// foresight is how long before a task is due permits are asked for: the way
	// to the store and back must not make it late.
	foresight = 25 * time.Millisecond
	// keepPermits is how long permits are kept that nobody else waits for, and
	// keepTokens how long tokens are, and how late their use is told at most.
	keepPermits, keepTokens = time.Second, 50 * time.Millisecond
	// askAgain is how long an ask that failed is not repeated, the first time.
	askAgain = 50 * time.Millisecond
	// mostAsked bounds what is asked for at once: it is counted.
	mostAsked = 4096

	nowhen = time.Duration(math.MaxInt64)
)

// LimitLease is this node's part of the limits of a queue, or of one destination of
// it, if nodes share them: see task.Permits. Queues without limits have no lease;
// neither do single-node stores.
//
// What is held counts until the lease ends, reckoned from before the ask was
// sent, so that it ends here before others may have it. What an ask gives back
// is given up before it is sent; what it gains counts from the reply on.
type LimitLease struct {
	scope       task.PermitScope
	queue       *queue
	destination *queueDestination // nil: of the queue as a whole
	wakeup      Wakeup

	held  int // attempts that may be under way
	share int // to which held is to fall, as others wait; -1: nobody waits

	tokens   int           // on hand, those included that are reserved
	reserved int           // by picks
	after    time.Duration // the last token is of use from then on
	used     uint64        // tokens, ever
	mark     uint64        // another after each ask: what was used before it is told
	usedAt   time.Duration // the last of them
	low      int           // so few to take are few

	// until is the end of the lease. The Planner writes it; an attempt reads it
	// before its request is written: the one word is all they share.
	until    atomic.Int64
	renew    time.Duration
	again    time.Duration // when it is to ask again, as the last reply said; 0: whenever it pays
	backsOff bool          // the last ask was for more than there was: again is soon enough
	replied  time.Duration

	foreseen time.Duration // work is expected until then
	coming   int           // so many tasks

	peaks  [2]int // what was wanted most in this period, and in the one before
	period time.Duration

	pending   bool // stands in Planner.pending
	needsSlot bool // stands in Planner.needSlot
	asking    bool
	hinted    bool   // while asking
	asked     uint64 // used, when it asked last
	wanted    [2]int // then: permits, tokens
	failing   int    // asks, one after the other
}

// spent reports whether nothing of s is to be given back, nor told.
func (s *LimitLease) spent() bool {
	return s.held == 0 && s.tokens == 0 && s.used == s.asked && !s.asking && !s.pending
}

func (s *LimitLease) running() int {
	if s.destination != nil {
		return s.destination.running
	}
	return s.queue.running
}

// limit returns the limit of attempts under way, 0 for none.
func (s *LimitLease) limit() int {
	if s.destination != nil {
		return s.queue.settings.PerDestination
	}
	return s.queue.settings.Concurrency
}

// rated reports whether s has to do with a rate.
func (s *LimitLease) rated() bool { return s.destination == nil && s.queue.settings.Rate > 0 }

func (s *LimitLease) lives(now time.Duration) bool { return int64(now) < s.until.Load() }

// full reports whether no more attempts may be under way.
func (s *LimitLease) full(now time.Duration) bool {
	most := s.held
	if s.share >= 0 {
		most = min(most, s.share)
	}
	return s.running() >= min(most, s.limit()) || !s.lives(now)
}

// token returns when there is a token, nowhen until one is given.
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
// of a lease before this one.
func (s *LimitLease) covers(now time.Duration) bool {
	return s.lives(now) && (s.tokens > 1 || s.tokens == 1 && s.after <= now)
}

// charge uses the token that a pick has reserved, and returns the mark under
// which end may undo that.
func (s *LimitLease) charge(now time.Duration) uint64 {
	s.reserved--
	s.tokens--
	s.used++
	s.usedAt = now
	return s.mark
}

// end notes that a start that was charged under mark has ended. One that was
// unsent has its token back, unless the store was told that it is used: it fills
// up again since then, and what is not told yet are other starts, and later ones.
func (s *LimitLease) end(mark uint64, unsent bool) {
	if unsent && mark == s.mark {
		s.used--
		s.tokens++
	}
}

// expire gives up everything: the lease has ended. What was used since an ask that
// is under way is part of what its reply gives.
func (s *LimitLease) expire() {
	s.held, s.tokens, s.share, s.again, s.backsOff = 0, 0, -1, 0, false
	if !s.asking {
		s.asked = s.used // what others have of it is reckoned without us
	}
	s.mark++
	s.until.Store(0)
}

// want notes that so many attempts could be under way, and returns how many were
// of late: it would not pay to ask anew for each.
func (s *LimitLease) want(n int, now time.Duration) int {
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

// next returns when s is to ask, whatever happens until then, 0 for never.
func (s *LimitLease) next() time.Duration {
	next := nowhen
	if s.held > 0 || s.tokens > 0 {
		next = s.renew
	}
	if s.again > 0 {
		next = min(next, s.again)
	}
	if s.tokens > s.reserved || s.used > s.asked {
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
