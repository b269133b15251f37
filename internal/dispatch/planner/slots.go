package planner

// class is a class of receivers. It decides which slots an attempt may use.
type class uint8

const (
	proven  class = iota // the latest attempt that counts ended with a reply
	unknown              // it is not known yet whether it replies
	suspect              // attempts end without a reply
	classes
)

// slots decides which lanes may start another attempt. Receivers that hang must
// leave room for those that do not, and before its first reply a receiver may
// be of either kind.
//
// Proven receivers may use all slots. Unknown and suspect receivers together
// may use three quarters, and suspect ones alone one quarter. So whatever
// number of new receivers hangs, a quarter of the slots remains for those that
// reply. And whatever number of known receivers hangs, half of the slots
// remains for new ones.
//
// These rules apply to the slots of each class:
//
//   - Within its allowance a lane may start an attempt while it has fewer under
//     way than slots are left, and while slots are not scarce. They are scarce
//     when at most an eighth of them is left, or at most half if the receiver
//     is not proven. The allowance is small at first. It grows by one with each
//     reply (any status) that comes while the allowance is used up, so it
//     doubles in each round. It is halved with each attempt that ends without a
//     reply.
//   - A lane with no attempt under way may also use scarce slots, except for a
//     sixteenth of all if the receiver is proven.
//   - Beyond its allowance a lane may borrow while more than half of the slots
//     are left, and as many as are left beyond that half. So a burst to a busy
//     host need not wait for its allowance to grow. If the receiver is not
//     proven, the limit is seven eighths instead of a half.
//   - A lane in quarantine needs any one slot of its class: the quarantine slot
//     admits one attempt at a time on the whole server.
//   - A queue may start attempts at receivers that are not proven while it has
//     fewer than three such attempts for each slot left. So a queue whose new
//     receivers all hang leaves a quarter of those slots to the other queues.
//
// These rules alone would give most slots to the queue with most lanes: if all
// slots are taken and one becomes free, only a lane with no attempt under way
// could use it. So a queue with less than its share may start attempts within
// its lanes' allowances as long as any slot is left. The share is seven eighths
// of all slots, divided among the namespaces that could start a task now, and
// among the queues of each. It is half of that for a queue that is alone.
//
// The simpler rule, "fewer running than there are free slots", was built first:
// eleven hanging lanes, arriving one after another, took every slot.
type slots struct {
	all, free int
	held      [classes]int // attempts under way, by the class of their destination at the pick
}

func newSlots(n int) slots { return slots{all: n, free: n} }

// base is the first allowance of a lane.
func (s *slots) base() int { return max(s.all/256, 1) }

// most is how many attempts one lane may have under way at most.
func (s *slots) most() int { return (s.all + 1) / 2 }

// pool is how many slots a class may use.
func (s *slots) pool(c class) int {
	switch c {
	case unknown:
		return max(s.all*3/4, 1)
	case suspect:
		return max(s.all/4, 1)
	}
	return s.all
}

// left returns how many slots are left to each class.
func (s *slots) left() cost {
	p := s.free
	u := min(p, s.pool(unknown)-s.held[unknown]-s.held[suspect])
	return cost{proven: int32(p), unknown: int32(u), suspect: int32(min(u, s.pool(suspect)-s.held[suspect]))}
}

// shared is how many slots are divided into shares.
func (s *slots) shared() int { return s.all - s.all/8 }

// cost returns the slots that l needs to start another attempt.
func (s *slots) cost(l *lane) cost {
	pool, n := s.pool(l.destination.class), neverFits
	if l.quarantined() {
		n[l.destination.class] = 0
		return n
	}
	last, scarce, lent := pool/16, pool/8, pool/2
	if l.destination.class != proven {
		last, scarce, lent = 0, pool/2, pool-pool/8
	}
	need := last
	switch {
	case l.running >= l.allowance:
		need = l.running - l.allowance + lent
	case l.running > 0:
		need = max(l.running, scarce)
	}
	n[l.destination.class] = int32(need)
	if l.destination.class == proven && l.running < l.allowance {
		n[share] = 0
	}
	return n
}

func (s *slots) take(c class) {
	s.free--
	s.held[c]++
}

func (s *slots) give(c class) {
	s.free++
	s.held[c]--
}

// Evidence is what the end of an attempt shows about the receiver.
type Evidence uint8

// The kinds of evidence.
const (
	Nothing  Evidence = iota // none: the claim was refused, or we ended the attempt
	Unsent                   // nothing was written to the network
	Replied                  // the receiver replied, with a status other than the next two
	Deferred                 // it replied that it wants no request for a while
	Failing                  // it replied with a status that blames the receiver, not the task
	Silent                   // it did not reply
)

// adjustAllowance changes the allowance of l after the end of an attempt.
func (s *slots) adjustAllowance(l *lane, e Evidence) {
	switch {
	case e == Silent:
		l.allowance = max(l.allowance/2, 1)
	case (e == Replied || e == Deferred || e == Failing) && l.running >= l.allowance:
		l.allowance = min(max(l.allowance+1, s.base()), s.most())
	}
}
