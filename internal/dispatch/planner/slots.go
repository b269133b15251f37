package planner

// class is what is known of a receiver. It decides which slots an attempt at it
// may come from.
type class uint8

const (
	proven  class = iota // its last word was a reply
	unknown              // nothing was heard of it yet
	suspect              // its last word was silence
	classes
)

// slots says who may start another attempt. What hangs must leave room for
// what does not, and it cannot be told which is which before the first reply.
//
// Receivers that have answered may use all slots; those of which nothing is
// known three quarters, together with those that were silent; and those one
// quarter. So whatever number of new receivers hangs, a quarter of the slots
// remains for those that answer, and whatever number of known ones hangs, half
// of the slots remains for what is new.
//
// Of the slots of its class
//
//   - within its allowance a lane starts while it has fewer running than are
//     left, and while they are not scarce: an eighth of all has to be left, or
//     half of them where the receiver has not proved itself. The allowance is
//     small at first, it grows by one with each reply (any status) that came
//     while it was used up, so by doubling, and is halved with each attempt that
//     ended without a reply;
//   - one that has none running may also use what is scarce, but for a
//     sixteenth of all where the receiver has proved itself;
//   - beyond its allowance a lane may borrow while more than half of the slots are
//     left, and as many as are left beyond that: a burst to a busy host need not
//     wait for its allowance to grow. Where the receiver has not proved itself
//     it is seven eighths instead of a half;
//   - one in quarantine needs a slot, and no more than that: the quarantine slot lets one
//     attempt through at a time, and the whole server has that one;
//   - a queue starts at receivers that have not proved themselves while it has
//     fewer than three such attempts for each slot left. So a queue whose new
//     receivers all hang leaves a quarter of theirs to the other queues.
//
// This alone would give most to the queue with most lanes: of a slot that
// becomes free where all are taken only a lane that has none running could make
// use. So a queue that has less than its share starts within its lanes'
// allowances as long as any slot is left. The share is seven eighths of all
// slots, divided among the namespaces that could start something now, and among
// the queues of each; half of that for a queue that is alone.
//
// The simpler rule, "fewer running than there are free slots", was built first:
// eleven hanging lanes, arriving one after another, took every slot.
type slots struct {
	all, free int
	held      [classes]int // attempts under way, by what their destination was when they were picked
}

func newSlots(n int) slots { return slots{all: n, free: n} }

// base is the allowance of a lane of which nothing is known.
func (s *slots) base() int { return max(s.all/256, 1) }

// most is how many attempts of one lane may ever run.
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

// cost returns what l needs to start another attempt.
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

// Evidence is what an attempt's end says about the receiver.
type Evidence uint8

// What there may be.
const (
	Nothing  Evidence = iota // none: the claim was refused, or we ended the attempt
	Unsent                   // nothing was written to the network
	Replied                  // the receiver replied, and the status is none of the next two
	Deferred                 // it replied that it wants nothing for a while
	Failing                  // it replied with a status that speaks of it, not of the task
	Silent                   // it did not reply
)

// adjustAllowance adapts the allowance of l, of which one attempt has ended.
func (s *slots) adjustAllowance(l *lane, e Evidence) {
	switch {
	case e == Silent:
		l.allowance = max(l.allowance/2, 1)
	case (e == Replied || e == Deferred || e == Failing) && l.running >= l.allowance:
		l.allowance = min(max(l.allowance+1, s.base()), s.most())
	}
}
