package classic

import (
	"sync"
	"time"
)

// Heap is the sorted heap: a binary heap of deadlines, and a goroutine that
// sleeps until the earliest. This is the design of java.util.Timer (its
// TaskQueue is a binary heap) and of Workerman's select loop (an SplPriorityQueue). Both
// leave a cancelled timer in the heap until its deadline. Here each timer has
// its index in the heap and is removed at once, as in
// ScheduledThreadPoolExecutor with setRemoveOnCancelPolicy. Add, Remove and
// Reset take O(log n).
//
// A timer is never early. Heap has no tick, so a timer is late only by the time
// that the scheduler takes.
type Heap struct {
	driver

	mu   sync.Mutex // guards everything below
	heap []heapItem
}

// heapItem contains the deadline and the timer, so that the heap compares
// deadlines without reading timers.
type heapItem struct {
	when  time.Duration
	timer *HeapTimer
}

// HeapTimer is a timer of a Heap.
type HeapTimer struct {
	f     func()
	index int // in the heap; -1 means that the timer fired or was removed
}

// NewHeap returns an empty Heap and starts its goroutine.
func NewHeap() *Heap {
	h := &Heap{driver: newDriver()}
	h.start(h.pass)
	return h
}

// Add calls f after d.
func (h *Heap) Add(d time.Duration, f func()) *HeapTimer {
	t := &HeapTimer{f: f}
	when := after(h.now(), d)
	h.mu.Lock()
	h.heap = append(h.heap, heapItem{})
	h.upLocked(len(h.heap)-1, heapItem{when, t})
	first := t.index == 0
	h.mu.Unlock()
	if first {
		h.hurry()
	}
	return t
}

// Remove removes t, and reports whether it was pending.
func (h *Heap) Remove(t *HeapTimer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.index < 0 {
		return false
	}
	h.takeLocked(t.index)
	return true
}

// Reset makes t fire after d from now if it is pending. It reports whether t
// was pending.
func (h *Heap) Reset(t *HeapTimer, d time.Duration) bool {
	when := after(h.now(), d)
	h.mu.Lock()
	if t.index < 0 {
		h.mu.Unlock()
		return false
	}
	h.placeLocked(t.index, heapItem{when, t})
	first := t.index == 0
	h.mu.Unlock()
	if first {
		h.hurry()
	}
	return true
}

// Len returns the number of pending timers.
func (h *Heap) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.heap)
}

// pass runs the callbacks of due timers, one at a time. It returns the time
// until the next timer is due.
func (h *Heap) pass() time.Duration {
	for {
		h.mu.Lock()
		if len(h.heap) == 0 {
			h.mu.Unlock()
			return forever
		}
		first := h.heap[0]
		if wait := first.when - h.now(); wait > 0 {
			h.mu.Unlock()
			return wait
		}
		h.takeLocked(0)
		h.mu.Unlock()
		first.timer.f()
	}
}

// takeLocked removes the item at i. The last item takes its place.
func (h *Heap) takeLocked(i int) {
	h.heap[i].timer.index = -1
	end := len(h.heap) - 1
	last := h.heap[end]
	h.heap[end] = heapItem{}
	h.heap = h.heap[:end]
	if i < end {
		h.placeLocked(i, last)
	}
}

// placeLocked puts x at i, then moves x up or down to restore the order.
func (h *Heap) placeLocked(i int, x heapItem) {
	if i > 0 && x.when < h.heap[(i-1)/2].when {
		h.upLocked(i, x)
	} else {
		h.downLocked(i, x)
	}
}

func (h *Heap) upLocked(i int, x heapItem) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.heap[parent].when <= x.when {
			break
		}
		h.setLocked(i, h.heap[parent])
		i = parent
	}
	h.setLocked(i, x)
}

func (h *Heap) downLocked(i int, x heapItem) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			break
		}
		if right := child + 1; right < len(h.heap) && h.heap[right].when < h.heap[child].when {
			child = right
		}
		if x.when <= h.heap[child].when {
			break
		}
		h.setLocked(i, h.heap[child])
		i = child
	}
	h.setLocked(i, x)
}

func (h *Heap) setLocked(i int, x heapItem) {
	h.heap[i] = x
	x.timer.index = i
}
