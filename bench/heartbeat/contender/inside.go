package contender

import (
	"container/heap"
	"sync"
	"time"
)

// inside is the heap with the least memory: a connection has its own deadline
// and index.
type inside struct {
	base  time.Time
	ended func(uint32)

	mu    sync.Mutex // guards everything below
	conns []beating
	order []uint32    // the heap of connections
	timer *time.Timer // set for the first deadline, or earlier
}

type beating struct {
	deadline time.Duration // since base
	index    int32         // in order
}

func openInside(c conns) Timeouts {
	return &inside{base: time.Now(), ended: c.end, conns: make([]beating, len(c)), order: make([]uint32, 0, len(c))}
}

func (h *inside) Open(i uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[i].deadline = time.Since(h.base) + timeout
	heap.Push(h, i)
	if h.timer == nil {
		h.timer = time.AfterFunc(timeout, h.pass)
	}
}

func (h *inside) Heartbeat(i uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[i].deadline = time.Since(h.base) + timeout
	heap.Fix(h, int(h.conns[i].index))
}

func (h *inside) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.order) > 0 {
		if wait := h.conns[h.order[0]].deadline - time.Since(h.base); wait > 0 {
			h.timer.Reset(wait)
			return
		}
		h.ended(heap.Pop(h).(uint32))
	}
	h.timer = nil
}

func (h *inside) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order = nil
}

func (h *inside) Len() int { return len(h.order) }

func (h *inside) Less(a, b int) bool {
	return h.conns[h.order[a]].deadline < h.conns[h.order[b]].deadline
}

func (h *inside) Swap(a, b int) {
	h.order[a], h.order[b] = h.order[b], h.order[a]
	h.conns[h.order[a]].index, h.conns[h.order[b]].index = int32(a), int32(b)
}

func (h *inside) Push(x any) {
	i := x.(uint32)
	h.conns[i].index = int32(len(h.order))
	h.order = append(h.order, i)
}

func (h *inside) Pop() any {
	last := len(h.order) - 1
	i := h.order[last]
	h.order = h.order[:last]
	return i
}
