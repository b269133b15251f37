package wheel

// runQueue holds the functions that wait for a worker of a Pool, first in,
// first out. It is a ring buffer that grows, and a function beyond the Pool's
// room is blocked: its call of Run waits until the function is unblocked.
type runQueue struct {
	ring  []queued // its length is a power of two
	first int
	n     int
}

type queued struct {
	f         func()
	user      *poolUser     // the wheel that f belongs to, if f is blocked
	unblocked chan struct{} // not nil while f is blocked; closed when it no longer is
}

// unblock ends the wait of the call of Run that added f.
func (q *queued) unblock() {
	if q.unblocked != nil {
		close(q.unblocked)
		q.unblocked = nil
	}
}

// at returns the element with index place, counted from the head.
func (q *runQueue) at(place int) *queued { return &q.ring[(q.first+place)&(len(q.ring)-1)] }

func (q *runQueue) push(w queued) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.n++
	*q.at(q.n - 1) = w
}

func (q *runQueue) pop() func() {
	w := q.at(0)
	w.unblock()
	f := w.f
	*w = queued{}
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return f
}

// unblockFrom unblocks the elements from place on that belong to u, or all of
// them if u is nil.
func (q *runQueue) unblockFrom(place int, u *poolUser) {
	for ; place < q.n; place++ {
		if w := q.at(place); u == nil || w.user == u {
			w.unblock()
		}
	}
}

func (q *runQueue) grow() {
	ring := make([]queued, max(8, 2*len(q.ring)))
	for place := range q.n {
		ring[place] = *q.at(place)
	}
	q.ring, q.first = ring, 0
}

// keepQueued is the largest length of a ring that an idle Pool keeps.
const keepQueued = 64

// shrink frees the memory of an empty queue that was long.
func (q *runQueue) shrink() {
	if len(q.ring) > keepQueued {
		q.ring = nil
	}
}
