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
	close()
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
	{"channel", func() rivalQueue { return newChannelQueue(0) }},
	{"channel64", func() rivalQueue { return newChannelQueue(64) }},
	{"heap", func() rivalQueue { return &heapQueue{start: time.Now(), look: make(chan struct{}, 1)} }},
	{"loop", func() rivalQueue { return newLoopQueue() }},
}

type ownQueue struct{ *DelayQueue[int] }

func (q ownQueue) put(d time.Duration, v int) ticket     { return ticket{id: q.Put(d, v)} }
func (q ownQueue) take(ctx context.Context) (int, error) { return q.Take(ctx) }
func (q ownQueue) close()                                {}
func (q ownQueue) remove(t ticket) bool {
	_, ok := q.Remove(t.id)
	return ok
}

// channelQueue is a Wheel whose callback sends to a channel.
type channelQueue struct {
	wheel *Wheel[int]
	due   chan int
}

func newChannelQueue(room int) *channelQueue {
	due := make(chan int, room)
	return &channelQueue{New(Config{Run: Inline, Shards: 1}, func(v int) { due <- v }), due}
}

func (q *channelQueue) put(d time.Duration, v int) ticket     { return ticket{id: q.wheel.Add(d, v)} }
func (q *channelQueue) take(ctx context.Context) (int, error) { return receive(ctx, q.due) }
func (q *channelQueue) close()                                { q.wheel.Close() }
func (q *channelQueue) remove(t ticket) bool {
	_, ok := q.wheel.Remove(t.id)
	return ok
}

func receive(ctx context.Context, due <-chan int) (int, error) {
	select {
	case v := <-due:
		return v, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
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

func (q *heapQueue) close() {}

// loopQueue is a heap that one goroutine owns. All calls go through channels.
type loopQueue struct {
	start time.Time
	calls chan func(*itemHeap)
	due   chan int
	end   chan struct{}
}

func newLoopQueue() *loopQueue {
	q := &loopQueue{time.Now(), make(chan func(*itemHeap)), make(chan int), make(chan struct{})}
	go q.run()
	return q
}

func (q *loopQueue) put(d time.Duration, v int) ticket {
	item := &heapItem{when: time.Since(q.start) + d, value: v}
	q.calls <- func(h *itemHeap) { heap.Push(h, item) }
	return ticket{item: item}
}

func (q *loopQueue) take(ctx context.Context) (int, error) { return receive(ctx, q.due) }

func (q *loopQueue) remove(t ticket) bool {
	removed := make(chan bool, 1)
	q.calls <- func(h *itemHeap) { removed <- h.remove(t.item) }
	return <-removed
}

func (q *loopQueue) close() { close(q.end) }

func (q *loopQueue) run() {
	var items itemHeap
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		var due chan<- int // nil unless an element is due
		var first int
		var rings <-chan time.Time
		if len(items) > 0 {
			if left := items[0].when - time.Since(q.start); left <= 0 {
				due, first = q.due, items[0].value
			} else {
				alarm.Reset(left)
				rings = alarm.C
			}
		}
		select {
		case call := <-q.calls:
			call(&items)
		case due <- first:
			heap.Pop(&items)
		case <-rings:
		case <-q.end:
			return
		}
	}
}
