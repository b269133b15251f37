package classic

import (
	"container/heap"
	"sync"
	"time"
)

// Buckets is the hierarchy with a delay queue of buckets: wheels of 20 slots, of which each next one is 20 times as coarse and
// is created when it is needed, and a heap of the buckets that hold something, so that the goroutine sleeps until the earliest.
// When a bucket of a coarse wheel comes due, its timers are placed anew in the finer ones. It is the design of Kafka's
// TimingWheel and SystemTimer ("purgatory"), scheme 7 of Varghese and Lauck (1987) without ticking. Kafka lets callers add
// under a shared lock, and hands what is due to a thread of its own; here one lock guards all, and the goroutine calls.
//
// As in Kafka a bucket is due when its tick begins: a timer is early by up to one tick. It is not late but by what the
// scheduler takes. The bucket of removed timers stays in the queue and wakes the goroutine for nothing.
type Buckets struct {
	driver

	mu    sync.Mutex // guards everything below
	fine  *ring
	queue bucketQueue
	due   chain // found to be due while timers were placed
	n     int
}

// ring is one wheel of the hierarchy. Times are nanoseconds since the base.
type ring struct {
	tick    int64
	now     int64 // the time of the last bucket that came due, rounded down to a tick
	buckets [ringSize]bucket
	coarser *ring // nil until it is needed
}

const ringSize = 20

type bucket struct {
	list
	when  int64 // when it comes due
	index int   // in the queue, plus one; 0: it is not there
}

// NewBuckets returns an empty hierarchy with its goroutine running.
func NewBuckets(tick time.Duration) *Buckets {
	if tick <= 0 {
		panic("classic: NewBuckets needs a tick above 0")
	}
	b := &Buckets{driver: newDriver(), fine: &ring{tick: int64(tick)}}
	b.start(b.pass)
	return b
}

// Add calls f after d.
func (b *Buckets) Add(d time.Duration, f func()) *Timer {
	t := &Timer{f: f, when: int64(after(b.now(), d))}
	b.mu.Lock()
	b.n++
	earlier := b.placeLocked(t)
	b.mu.Unlock()
	if earlier {
		b.hurry()
	}
	return t
}

// Remove takes t back, and reports whether it was pending.
func (b *Buckets) Remove(t *Timer) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.list == nil {
		return false
	}
	t.unlink()
	b.n--
	return true
}

// Reset makes t fire after d from now if it is pending, and reports whether it was.
func (b *Buckets) Reset(t *Timer, d time.Duration) bool {
	when := int64(after(b.now(), d))
	b.mu.Lock()
	if t.list == nil {
		b.mu.Unlock()
		return false
	}
	t.unlink()
	t.when = when
	earlier := b.placeLocked(t)
	b.mu.Unlock()
	if earlier {
		b.hurry()
	}
	return true
}

// Len returns the number of pending timers.
func (b *Buckets) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// placeLocked puts t into a bucket, or into due, and reports whether the goroutine must wake up earlier for it.
func (b *Buckets) placeLocked(t *Timer) (earlier bool) {
	for r := b.fine; ; r = r.overflow() {
		switch {
		case t.when < b.fine.now+b.fine.tick:
			b.due.add(t)
			b.n--
			return true
		case (t.when-r.now)/r.tick < ringSize:
			begin := t.when - t.when%r.tick
			k := &r.buckets[begin/r.tick%ringSize]
			k.push(t)
			if k.index > 0 {
				return false
			}
			k.when = begin
			heap.Push(&b.queue, k)
			return k.index == 1
		}
	}
}

// overflow returns the next coarser wheel.
func (r *ring) overflow() *ring {
	if r.coarser == nil {
		tick := r.tick * ringSize
		r.coarser = &ring{tick: tick, now: r.now - r.now%tick}
	}
	return r.coarser
}

// pass calls what is due, and returns the time until the next bucket is.
func (b *Buckets) pass() time.Duration {
	for {
		b.mu.Lock()
		wait := b.flushLocked()
		due := b.due
		b.due = chain{}
		b.mu.Unlock()
		if due.n == 0 {
			return wait
		}
		due.call()
	}
}

// flushLocked places the timers of the first bucket anew if it is due; otherwise it returns the time until it is.
func (b *Buckets) flushLocked() (wait time.Duration) {
	for b.due.n == 0 {
		if len(b.queue) == 0 {
			return forever
		}
		first := b.queue[0]
		if wait := time.Duration(first.when) - b.now(); wait > 0 {
			return wait
		}
		heap.Pop(&b.queue)
		for r := b.fine; r != nil; r = r.coarser {
			r.now = max(r.now, first.when-first.when%r.tick)
		}
		t := first.first
		first.first = nil
		for t != nil {
			next := t.next
			t.list, t.next, t.prev = nil, nil, nil
			b.placeLocked(t)
			t = next
		}
	}
	return 0
}

// bucketQueue is a heap of buckets by when they come due.
type bucketQueue []*bucket

func (q bucketQueue) Len() int           { return len(q) }
func (q bucketQueue) Less(i, j int) bool { return q[i].when < q[j].when }

func (q bucketQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i+1, j+1
}

// Push appends a bucket, for package heap.
func (q *bucketQueue) Push(x any) {
	k := x.(*bucket)
	*q = append(*q, k)
	k.index = len(*q)
}

// Pop removes the last bucket, for package heap.
func (q *bucketQueue) Pop() any {
	end := len(*q) - 1
	k := (*q)[end]
	(*q)[end] = nil
	*q = (*q)[:end]
	k.index = 0
	return k
}
