package api

import (
	"io"
	"runtime"
	"sync"
)

const (
	// maxLoad bounds the bodies of all requests together, in bytes, from when they
	// come in until they are answered.
	maxLoad = 128 << 20
	// loadStep is the unit in which they are counted.
	loadStep = 64 << 10
	// freeLoad is the part of a body that is not counted: most requests have no more, and
	// maxUnderWay bounds the number of those.
	freeLoad = 8 << 10
)

// shares divides what there is of something among those who ask. A namespace may
// have as much as is left of most: half of it alone, and whatever others have,
// some is left for one that has nothing.
type shares struct {
	most int

	mu    sync.Mutex // guards the rest
	total int
	of    map[string]int // by namespace; none is 0
}

// take reports whether namespace may have another n, and notes them.
func (l *shares) take(namespace string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[namespace]+n > l.most-l.total-n {
		return false
	}
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.total += n
	l.of[namespace] += n
	return true
}

// room reports whether namespace may have any more.
func (l *shares) room(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[namespace] < l.most-l.total
}

// add notes another n of namespace, also where it may have none.
func (l *shares) add(namespace string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.total += n
	l.of[namespace] += n
}

// give gives n back.
func (l *shares) give(namespace string, n int) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total -= n
	if l.of[namespace] -= n; l.of[namespace] == 0 {
		delete(l.of, namespace)
	}
}

// counted is the body of r, counted as it comes.
type counted struct {
	io.Reader
	loads *shares
	r     *request
	free  int // of what was counted, and the first step
}

// Read implements io.Reader. It fails where there is no room for what it read.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	for c.free -= n; c.free < 0; c.free += loadStep {
		if !c.loads.take(c.r.namespace, loadStep) {
			return n, tooManyAtOnce("", "the requests of this namespace that are under way are too large together: send smaller batches, or fewer at once")
		}
		c.r.load += loadStep
		runtime.Gosched() // see yieldStep: a client that sends fast never lets its reader wait
	}
	return n, err
}
