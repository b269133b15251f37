package api

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// turnTimeout bounds the wait of a read for its turn.
	turnTimeout = 2 * time.Second
	// maxWaiting bounds the reads of one namespace that wait for a turn.
	maxWaiting = 64
)

// turns bounds work that takes milliseconds of processor time: pages of lists,
// and the decoding of large bodies. A turn is the right to do such work. Only a
// few turns exist, so that goroutines that deliver find a free processor. Each
// namespace has a queue of waiting requests, and the queues get turns in
// round-robin order.
type turns struct {
	most, each int // the maximum number of turns at once: of all namespaces, and of one

	mu      sync.Mutex // guards the rest
	running int
	of      map[string]int // the number of turns in use, by namespace; no value is 0
	queues  map[string][]chan struct{}
	order   []string // namespaces with a queue, the next one first
}

// newTurns returns the turns for work on the processors of this machine. If remote
// is set, the work mostly waits for another machine.
func newTurns(remote bool) turns {
	most := max(1, runtime.GOMAXPROCS(0)/2)
	if remote {
		most = max(2, runtime.GOMAXPROCS(0))
	}
	return turns{most: most, each: max(1, most/2), of: map[string]int{}, queues: map[string][]chan struct{}{}}
}

// enter waits for a turn of namespace, which the caller must end with leave. It
// reports false if it got no turn in time, or if ctx ended. If patient is set, it
// waits until ctx ends, for any length of the queue.
func (t *turns) enter(ctx context.Context, namespace string, patient bool) bool {
	t.mu.Lock()
	if len(t.queues[namespace]) == 0 && t.fitsLocked(namespace) {
		t.running++
		t.of[namespace]++
		t.mu.Unlock()
		return true
	}
	if !patient && len(t.queues[namespace]) >= maxWaiting {
		t.mu.Unlock()
		return false
	}
	granted := make(chan struct{})
	if len(t.queues[namespace]) == 0 {
		t.order = append(t.order, namespace)
	}
	t.queues[namespace] = append(t.queues[namespace], granted)
	t.mu.Unlock()

	var over <-chan time.Time
	if !patient {
		timer := time.NewTimer(turnTimeout)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-granted:
		return true
	case <-ctx.Done():
	case <-over:
	}
	if !t.abandon(namespace, granted) { // the waiter got its turn just now
		t.leave(namespace)
	}
	return false
}

// leave ends a turn of namespace and gives it to the next waiting request.
func (t *turns) leave(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.of[namespace]--; t.of[namespace] == 0 {
		delete(t.of, namespace)
	}
	for i := 0; i < len(t.order); i++ {
		next := t.order[i]
		if !t.fitsLocked(next) {
			continue
		}
		granted := t.queues[next][0]
		t.cutLocked(next, 0)
		if len(t.queues[next]) > 0 { // the next turn of this namespace comes last
			t.order = append(append(t.order[:i:i], t.order[i+1:]...), next)
		}
		t.running++
		t.of[next]++
		close(granted)
		return
	}
}

// fitsLocked reports whether namespace can have one more turn now. It must be
// called with mu held.
func (t *turns) fitsLocked(namespace string) bool {
	return t.running < t.most && t.of[namespace] < t.each
}

// abandon removes a waiter from its queue. It reports false if the waiter
// already has its turn.
func (t *turns) abandon(namespace string, waiter chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, w := range t.queues[namespace] {
		if w == waiter {
			t.cutLocked(namespace, i)
			return true
		}
	}
	return false
}

// cutLocked removes the i-th waiter of a namespace, and an empty queue. It must
// be called with mu held.
func (t *turns) cutLocked(namespace string, i int) {
	queue := t.queues[namespace]
	if len(queue) > 1 {
		t.queues[namespace] = append(queue[:i:i], queue[i+1:]...)
		return
	}
	delete(t.queues, namespace)
	for j, name := range t.order {
		if name == namespace {
			t.order = append(t.order[:j:j], t.order[j+1:]...)
			return
		}
	}
}
