package wheel

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// A rivalQueue has elements that can be taken after a delay.
type rivalQueue interface {
	put(d time.Duration, v int) ticket
	take(ctx context.Context) (int, error)
	remove(t ticket) bool
}

// A ticket removes an element. A queue uses one of the fields.
type ticket struct {
	id   ID
	item *heapItem
}

var rivalQueues = []struct {
	name string
	open func() rivalQueue
}{
	{"DelayQueue", func() rivalQueue { return ownQueue{NewDelayQueue[int]()} }},
	{"heap", func() rivalQueue { return &heapQueue{start: time.Now(), look: make(chan struct{}, 1)} }},
}

type ownQueue struct{ *DelayQueue[int] }

func (q ownQueue) put(d time.Duration, v int) ticket     { return ticket{id: q.Put(d, v)} }
func (q ownQueue) take(ctx context.Context) (int, error) { return q.Take(ctx) }
func (q ownQueue) remove(t ticket) bool {
	_, ok := q.Remove(t.id)
	return ok
}

func wake(look chan<- struct{}) {
	select {
	case look <- struct{}{}:
	default: // a token is there
	}
}

// heapItem is an element of the queues with a heap.
type heapItem struct {
	when  time.Duration
	index int // in the heap; -1: it was taken or removed
	value int
}

type itemHeap []*heapItem

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].when < h[j].when }
func (h itemHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *itemHeap) Push(x any) {
	item := x.(*heapItem)
	item.index = len(*h)
	*h = append(*h, item)
}

func (h *itemHeap) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	item.index = -1
	return item
}

func (h *itemHeap) remove(item *heapItem) bool {
	if item.index < 0 {
		return false
	}
	heap.Remove(h, item.index)
	return true
}

// heapQueue is the design of Java's DelayQueue: a heap, a lock, and a leader,
// which is the taker that sleeps until the first element is due. The followers
// wait for a token.
type heapQueue struct {
	start time.Time
	look  chan struct{}

	mu     sync.Mutex // guards everything below
	items  itemHeap
	leader *time.Timer // the alarm of the leader
}

func (q *heapQueue) put(d time.Duration, v int) ticket {
	item := &heapItem{when: time.Since(q.start) + d, value: v}
	q.mu.Lock()
	defer q.mu.Unlock()
	heap.Push(&q.items, item)
	if item.index == 0 {
		q.leader = nil
		wake(q.look)
	}
	return ticket{item: item}
}

func (q *heapQueue) take(ctx context.Context) (int, error) {
	var mine *time.Timer
	for {
		v, ok, rings := q.poll(&mine)
		if ok {
			return v, nil
		}
		select {
		case <-q.look:
		case <-rings:
		case <-ctx.Done():
			q.mu.Lock()
			defer q.mu.Unlock()
			q.resignLocked(mine)
			wake(q.look)
			return 0, ctx.Err()
		}
	}
}

// poll takes an element if one is due. Otherwise the caller may become the
// leader.
func (q *heapQueue) poll(mine **time.Timer) (v int, ok bool, rings <-chan time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resignLocked(*mine)
	if len(q.items) == 0 {
		return 0, false, nil
	}
	left := q.items[0].when - time.Since(q.start)
	if left <= 0 {
		v = heap.Pop(&q.items).(*heapItem).value
		if q.leader == nil && len(q.items) > 0 {
			wake(q.look)
		}
		return v, true, nil
	}
	if q.leader == nil {
		q.leader = time.NewTimer(left)
		*mine = q.leader
		return 0, false, q.leader.C
	}
	return 0, false, nil
}

func (q *heapQueue) resignLocked(mine *time.Timer) {
	if mine != nil && q.leader == mine {
		q.leader = nil
	}
}

func (q *heapQueue) remove(t ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.remove(t.item)
}
