package dispatch

// slots says who may start another attempt. What hangs must leave room for
// what does not, and it cannot be told which is which before the first reply:
//
//   - Within its allowance a lane starts while it has fewer running than there
//     are free slots: one comes to half of them, k come to one part in k+1 each.
//     The allowance is small at first. It grows by one with each reply (any
//     status) that came while it was used up, so by doubling, and is halved
//     with each attempt that ended without a reply.
//   - Beyond its allowance it starts while more than half of all slots are
//     free, by the same law: a burst to a host that is not known yet need not
//     wait, nor need the retries of one that is down.
//
// So k lanes that hang hold no more than half of the slots and their
// allowances, at first k/256 of them and in the end one each. With the first
// rule alone, eleven that come one after the other hold all: 512, 256, 128 ...
type slots struct {
	all, free int
	within    []*heap[*lane] // lanes that are ready, by how many attempts run
	beyond    []*heap[*lane] // those that have used up their allowance, by how many run beyond it
}

func newSlots(n int) slots { return slots{all: n, free: n} }

// base is the allowance of a lane of which nothing is known.
func (s *slots) base() int { return max(s.all/256, 1) }

// most is how many attempts of one lane may ever run.
func (s *slots) most() int { return (s.all + 1) / 2 }

// enter puts a lane among those that are ready.
func (s *slots) enter(l *lane) {
	if l.running < l.allowance {
		l.among = bucket(&s.within, l.running)
	} else {
		l.among = bucket(&s.beyond, l.running-l.allowance)
	}
	l.among.push(l)
}

func bucket(of *[]*heap[*lane], i int) *heap[*lane] {
	for len(*of) <= i {
		*of = append(*of, &heap[*lane]{})
	}
	return (*of)[i]
}

// first returns the lane that is served next, nil for none.
func (s *slots) first() *lane {
	best := least(nil, s.within, s.free)
	return least(best, s.beyond, s.free-s.all/2)
}

// least returns the first of best and of what stands in the first n buckets.
func least(best *lane, of []*heap[*lane], n int) *lane {
	for i := 0; i < n && i < len(of); i++ {
		if of[i].len() > 0 && (best == nil || of[i].min().before(best)) {
			best = of[i].min()
		}
	}
	return best
}

// evidence is what an attempt's end says about the receiver.
type evidence uint8

const (
	nothing evidence = iota // it was not asked
	replied
	silent
)

// heed adapts the allowance of l, of which one attempt has ended.
func (s *slots) heed(l *lane, e evidence) {
	switch {
	case e == silent:
		l.allowance = max(l.allowance/2, 1)
	case e == replied && l.running >= l.allowance:
		l.allowance = min(max(l.allowance+1, s.base()), s.most())
	}
}
