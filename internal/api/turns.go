package api

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// turnTimeout is how long a read waits for its turn.
	turnTimeout = 2 * time.Second
	// maxWaiting bounds the reads of one namespace that wait for their turn.
	maxWaiting = 64
)

// turns bounds the work that takes milliseconds of a processor at a time: pages of
// lists, and the decoding of large bodies. Few run at once, so that goroutines that
// deliver find a processor. Requests that wait stand in one line for each namespace,
// and the lines take turns.
type turns struct {
	most, each int // at once: of all namespaces, and of one

	mu      sync.Mutex // guards the rest
	running int
	of      map[string]int // running, by namespace; none is 0
	lines   map[string][]chan struct{}
	order   []string // of namespaces with a line; the next one first
}

// newTurns returns turns for work that a processor of this machine does, or, if
// remote, for work that mostly waits for another machine.
func newTurns(remote bool) turns {
	most := max(1, runtime.GOMAXPROCS(0)/2)
	if remote {
		most = max(2, runtime.GOMAXPROCS(0))
	}
	return turns{most: most, each: max(1, most/2), of: map[string]int{}, lines: map[string][]chan struct{}{}}
}

// enter waits for a turn of namespace; the caller must end it with leave. It
// reports false if there was none in time, or ctx ended. A patient caller waits
// until ctx ends, however long the line is.
func (t *turns) enter(ctx context.Context, namespace string, patient bool) bool {
	t.mu.Lock()
	if len(t.lines[namespace]) == 0 && t.fitsLocked(namespace) {
		t.running++
		t.of[namespace]++
		t.mu.Unlock()
		return true
	}
	if !patient && len(t.lines[namespace]) >= maxWaiting {
		t.mu.Unlock()
		return false
	}
	granted := make(chan struct{})
	if len(t.lines[namespace]) == 0 {
		t.order = append(t.order, namespace)
	}
	t.lines[namespace] = append(t.lines[namespace], granted)
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
	if !t.abandon(namespace, granted) { // the turn has come since
		t.leave(namespace)
	}
	return false
}

// leave ends a turn of namespace, and gives it to the next in line.
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
		granted := t.lines[next][0]
		t.cutLocked(next, 0)
		if len(t.lines[next]) > 0 { // its next one comes after all other lines
			t.order = append(append(t.order[:i:i], t.order[i+1:]...), next)
		}
		t.running++
		t.of[next]++
		close(granted)
		return
	}
}

// fitsLocked reports whether namespace may have another turn now.
func (t *turns) fitsLocked(namespace string) bool {
	return t.running < t.most && t.of[namespace] < t.each
}

// abandon takes a waiter out of its line. It reports false if it had its turn.
func (t *turns) abandon(namespace string, waiter chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, w := range t.lines[namespace] {
		if w == waiter {
			t.cutLocked(namespace, i)
			return true
		}
	}
	return false
}

// cutLocked removes the i-th waiter of a line, and a line that is empty then.
func (t *turns) cutLocked(namespace string, i int) {
	line := t.lines[namespace]
	if len(line) > 1 {
		t.lines[namespace] = append(line[:i:i], line[i+1:]...)
		return
	}
	delete(t.lines, namespace)
	for j, name := range t.order {
		if name == namespace {
			t.order = append(t.order[:j:j], t.order[j+1:]...)
			return
		}
	}
}
