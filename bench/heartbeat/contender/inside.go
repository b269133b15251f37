package contender

import (
	"container/heap"
	"sync"
	"time"
)

// inside is the heap with the least memory: a connection has its own deadline
// and index.
type inside struct {
	*server
	base time.Time

	mu    sync.Mutex  // guards everything below
	beats []beating   // of each connection
	order []uint32    // the heap of connections
	timer *time.Timer // set for the first deadline, or earlier
}

type beating struct {
	deadline time.Duration // since base
	index    int32         // in order
}

func openInside(s *server) Timeouts {
	return &inside{server: s, base: time.Now(), beats: make([]beating, len(s.conns)), order: make([]uint32, 0, len(s.conns))}
}

func (h *inside) Open(i uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats[i].deadline = time.Since(h.base) + h.timeout
	heap.Push(h, i)
	if h.timer == nil {
		h.timer = time.AfterFunc(h.timeout, h.pass)
	}
}

func (h *inside) Heartbeat(i uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats[i].deadline = time.Since(h.base) + h.timeout
	heap.Fix(h, int(h.beats[i].index))
}

func (h *inside) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.order) > 0 {
		if wait := h.beats[h.order[0]].deadline - time.Since(h.base); wait > 0 {
			h.timer.Reset(wait)
			return
		}
		h.end(heap.Pop(h).(uint32))
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
	return h.beats[h.order[a]].deadline < h.beats[h.order[b]].deadline
}

func (h *inside) Swap(a, b int) {
	h.order[a], h.order[b] = h.order[b], h.order[a]
	h.beats[h.order[a]].index, h.beats[h.order[b]].index = int32(a), int32(b)
}

func (h *inside) Push(x any) {
	i := x.(uint32)
	h.beats[i].index = int32(len(h.order))
	h.order = append(h.order, i)
}

func (h *inside) Pop() any {
	last := len(h.order) - 1
	i := h.order[last]
	h.order = h.order[:last]
	return i
}
