package planner

import "github.com/foliot/foliot/internal/task"

// class is a class of receivers, which decides the slots that an attempt can use.
type class uint8

const (
	proven  class = iota // the latest attempt that counts ended with a reply
	unknown              // it is not known yet whether the receiver replies
	suspect              // attempts end without a reply
	handler              // not a receiver, but the handler of a kind in this node
	classes
)

// doubtful reports whether receivers of the class may hang.
func (c class) doubtful() bool { return c == unknown || c == suspect }

// slots decides which lanes are allowed to start another attempt. Hanging
// receivers must not use all slots, but before the first reply of a receiver,
// the node cannot know whether it hangs.
//
// Proven receivers can use all slots. Unknown and suspect receivers together can
// use three quarters of the slots, and suspect receivers alone one quarter. So
// even if all new receivers hang, a quarter of the slots remains for proven ones,
// and even if all known receivers hang, half of the slots remains for new ones.
//
// These rules apply to the slots of each class:
//
//   - A lane below its allowance can start an attempt if it has fewer running
//     attempts than there are free slots, and if slots are not scarce. For a
//     proven receiver, slots are scarce when at most an eighth of them is free.
//     For other receivers, they are scarce when at most half of the slots that
//     their class can use is free. The allowance is small at first. Each reply
//     (with any status) that comes while the allowance is used up adds one to
//     it, so the allowance doubles each time that all its attempts get replies.
//     Each attempt that ends without a reply halves it.
//   - A lane without running attempts can use scarce slots too. If its receiver
//     is proven, the lane must leave one sixteenth of all slots free.
//   - A lane above its allowance can borrow slots while more than half of the
//     slots are free, but only the free slots above that half. So a burst to a
//     busy host need not wait until the allowance has grown. If the receiver is
//     not proven, a lane borrows only while more than seven eighths are free.
//   - A lane in quarantine needs any one slot of its class: the quarantine slot
//     admits one attempt at a time in the whole node.
//   - A queue can start attempts at receivers that are not proven while it has
//     fewer than three such attempts for each free slot. So if all new
//     receivers of a queue hang, other queues keep a quarter of the slots for
//     such receivers.
//
// These rules alone favour queues with many lanes. If all slots are taken and
// one becomes free, only a lane without attempts could use it. So a queue below
// its share can start attempts within its lanes' allowances as long as any slot
// is free. To get the shares, seven eighths of all slots are divided among the
// namespaces that could start a task now, and then among the queues of each
// namespace. If only one queue could start a task, its share is half of these
// slots.
//
// Handlers have separate slots, and each attempt needs any one of them, so a
// handler that hangs takes no slot of a receiver. The author of a handler knows
// how many attempts of it can run at once, and can limit its kind: see kind.
//
// A simpler rule was built first: "fewer running attempts than free slots".
// With it, eleven hanging lanes that arrived one after another took every slot.
type slots struct {
	all, free int
	held      [classes]int // running attempts, by the class of their destination at the pick
	handlers  int          // all slots of handlers
	full      uint64       // the bits of the kinds that have reached their limit
}

func newSlots(n, handlers int) slots { return slots{all: n, free: n, handlers: handlers} }

// base is the first allowance of a lane.
func (s *slots) base() int { return max(s.all/256, 1) }

// most returns the maximum number of attempts that one lane of a class can run
// at once.
func (s *slots) most(c class) int {
	if c == handler {
		return s.handlers
	}
	return (s.all + 1) / 2
}

// freeHandlers returns the number of free slots of handlers.
func (s *slots) freeHandlers() int { return s.handlers - s.held[handler] }

// anyFree reports whether a slot is free that a lane with the cost n can use: a
// slot for requests, or one for handlers. If n allows no start, any free slot
// counts.
func (s *slots) anyFree(n cost) bool {
	requests, handlers := n.slots != neverFits.slots, n.kinds != 0
	if !requests && !handlers {
		requests, handlers = true, true
	}
	return requests && s.free > 0 || handlers && s.freeHandlers() > 0
}

// pool returns how many slots a class can use.
func (s *slots) pool(c class) int {
	switch c {
	case unknown:
		return max(s.all*3/4, 1)
	case suspect:
		return max(s.all/4, 1)
	}
	return s.all
}

// left returns how many slots are left for each class.
func (s *slots) left() cost {
	p := s.free
	u := min(p, s.pool(unknown)-s.held[unknown]-s.held[suspect])
	left := cost{slots: [share + 1]int32{proven: int32(p), unknown: int32(u), suspect: int32(min(u, s.pool(suspect)-s.held[suspect]))}}
	if s.freeHandlers() > 0 {
		left.kinds = ^s.full
	}
	return left
}

// least returns the lowest cost that l can have: any one slot of its class.
func (s *slots) least(l *lane) cost {
	n := neverFits
	if k := l.destination.kind; k != nil {
		n.kinds = k.bit
	} else {
		n.slots[l.destination.class] = 0
	}
	return n
}

// shared returns the number of slots that are divided into shares.
func (s *slots) shared() int { return s.all - s.all/8 }

// cost returns the slots that l needs to start another attempt.
func (s *slots) cost(l *lane) cost {
	if l.quarantined() || l.destination.class == handler {
		return s.least(l)
	}
	pool, n := s.pool(l.destination.class), neverFits
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
	n.slots[l.destination.class] = int32(need)
	if l.destination.class == proven && l.running < l.allowance {
		n.slots[share] = 0
	}
	return n
}

// take takes a slot for an attempt at d.
func (s *slots) take(d *destination) {
	s.held[d.class]++
	if d.class != handler {
		s.free--
	}
	s.countKind(d.kind, 1)
}

// give frees the slot of an attempt at d, which had class of when it was taken.
func (s *slots) give(d *destination, of class) {
	s.held[of]--
	if of != handler {
		s.free++
	}
	s.countKind(d.kind, -1)
}

// countKind adds by to the running attempts of k: 1 for a start, -1 for an end.
// k can be nil.
func (s *slots) countKind(k *kind, by int) {
	if k == nil {
		return
	}
	if k.running += by; k.atOnce == 0 {
		return
	}
	s.full &^= k.bit
	if k.running >= k.atOnce {
		s.full |= k.bit
	}
}

// MaxLimitedKinds is the maximum number of kinds that can have a limit.
const MaxLimitedKinds = 63

// kind is the state of the handler of a kind, which all namespaces share.
type kind struct {
	atOnce  int // how many attempts may run at once; zero means no limit
	running int // attempts that run now
	// bit stands for the kind in cost.kinds. All kinds without a limit have the
	// bit unlimited.
	bit uint64
}

// unlimited is the bit of the kinds without a limit.
const unlimited = 1 << MaxLimitedKinds

// newKinds returns the kinds with a handler in this node. limits has the limit
// of each kind, or zero.
func newKinds(limits map[string]int) map[string]*kind {
	kinds, bit := map[string]*kind{}, uint64(1)
	for name, atOnce := range limits {
		k := &kind{atOnce: atOnce, bit: unlimited}
		if atOnce > 0 {
			k.bit, bit = bit, bit<<1
		}
		kinds[name] = k
	}
	return kinds
}

// runs reports whether this node runs the tasks of a destination: it sends
// requests, or has a handler of the kind that runs tasks of the namespace. It
// returns the kind if there is one.
func (pl *Planner) runs(of destinationKey) (k *kind, runs bool) {
	name := task.KindOf(of.destination)
	if name == "" {
		return nil, of.destination == "" || pl.choose.slots.all > 0
	}
	if k = pl.kinds[name]; k == nil || pl.config.KindsOf != "" && of.namespace != pl.config.KindsOf {
		return &kind{bit: unlimited}, false // its lanes never start
	}
	return k, true
}

// Evidence is the information about a receiver that follows from the end of an
// attempt.
type Evidence uint8

// The kinds of evidence.
const (
	Nothing Evidence = iota // no evidence: the claim was refused, or the node interrupted the attempt
	Unsent                  // nothing was written to the network
	Replied                 // the receiver replied with a status that is neither Snoozed nor Failing
	Snoozed                 // the receiver replied that it wants no request for a while
	Failing                 // the receiver replied with a status that blames the receiver, not the task
	Silent                  // the receiver did not reply
)

// adjustAllowance changes the allowance of l after the end of an attempt.
func (s *slots) adjustAllowance(l *lane, e Evidence) {
	switch {
	case e == Silent:
		l.allowance = max(l.allowance/2, 1)
	case (e == Replied || e == Snoozed || e == Failing) && l.running >= l.allowance:
		l.allowance = min(max(l.allowance+1, s.base()), s.most(l.destination.class))
	}
}
