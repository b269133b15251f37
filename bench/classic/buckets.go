package classic

import (
	"container/heap"
	"time"
)

// Buckets is the hierarchy with a delay queue of buckets. Its wheels have 20
// slots each. The ticks of each wheel are 20 times as long as those of the one
// before, and a wheel is created when it is needed. A heap holds the buckets
// that have timers, so the goroutine sleeps until the earliest. When a bucket
// of a coarse wheel is due, its timers move to the finer wheels.
//
// This is the design of Kafka's TimingWheel and SystemTimer ("purgatory"):
// scheme 7 of Varghese and Lauck (1987) without ticking. In Kafka, callers add
// timers under a shared lock, and a separate thread runs due ones. Here one
// lock guards everything, and the goroutine runs the callbacks.
//
// As in Kafka, a bucket is due when its tick begins, so a timer is early by up
// to one tick. It is late only by the time that the scheduler takes. The bucket
// of a removed timer stays in the queue and wakes the goroutine without need.
type Buckets struct {
	wheel

	// Guarded by the lock of the wheel.
	fine  *ring
	queue bucketQueue
	due   chain // timers that were due when they were placed
}

// ring is one wheel of the hierarchy. Times are nanoseconds since the base.
type ring struct {
	tick    int64
	now     int64 // the due time of the last bucket, rounded down to a tick
	buckets [ringSize]bucket
	coarser *ring // nil until it is needed
}

const ringSize = 20

type bucket struct {
	list
	when  int64 // due time
	index int   // the index in the queue, plus one; zero means that the bucket is not in the queue
}

// NewBuckets returns an empty hierarchy and starts its goroutine.
func NewBuckets(tick time.Duration) *Buckets {
	if tick <= 0 {
		panic("classic: NewBuckets needs a tick above 0")
	}
	b := &Buckets{wheel: wheel{driver: newDriver()}, fine: &ring{tick: int64(tick)}}
	b.when = func(d time.Duration) int64 { return int64(after(b.now(), d)) }
	b.place = b.placeLocked
	b.start(b.pass)
	return b
}

// placeLocked puts t into a bucket, or into due. It reports whether the
// goroutine must wake up earlier.
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

// pass runs the callbacks of all due timers. It returns the time until the next
// bucket is due.
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

// flushLocked moves the timers of due buckets until some are due to fire. Then
// it returns 0. Otherwise it returns the time until the first bucket is due.
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

// bucketQueue is a heap of buckets, ordered by due time.
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
