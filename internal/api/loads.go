package api

import (
	"bytes"
	"io"
	"runtime"
	"slices"
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
	free  int // bytes that may come before more are counted
}

// expect counts n bytes before they come, where their number is announced. It fails
// where there is no room for them.
func (c *counted) expect(n int64) error {
	if n <= int64(c.free) {
		return nil
	}
	return c.count((int(n) - c.free + loadStep - 1) / loadStep * loadStep)
}

// count takes room for another n bytes.
func (c *counted) count(n int) error {
	if !c.loads.take(c.r.namespace, n) {
		return tooManyAtOnce("", "the requests of this namespace that are under way are too large together: send smaller batches, or fewer at once")
	}
	c.r.load += n
	c.free += n
	return nil
}

// Read implements io.Reader. It fails where there is no room for what it read.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	for c.free -= n; c.free < 0; {
		if err := c.count(loadStep); err != nil {
			return n, err
		}
	}
	return n, err
}

// receive appends all of body to buf. Other goroutines run after each yieldStep: a client
// that sends fast never lets its reader wait.
func receive(buf *bytes.Buffer, body io.Reader) error {
	for since := 0; ; {
		if buf.Available() < bytes.MinRead {
			enlarge(buf, 2*buf.Cap())
		}
		n, err := body.Read(buf.AvailableBuffer()[:min(buf.Available(), yieldStep)])
		buf.Write(buf.AvailableBuffer()[:n])
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		if since += n; since >= yieldStep {
			since = 0
			runtime.Gosched()
		}
	}
}

// enlarge gives buf room for n bytes in all. bytes.Buffer clears or copies megabytes
// at once: no goroutine can be stopped there, and the garbage collector would wait for it
// with all processors. make and small copies do not have this fault.
func enlarge(buf *bytes.Buffer, n int) {
	if n <= buf.Cap() {
		return
	}
	larger := bytes.NewBuffer(make([]byte, 0, n))
	for piece := range slices.Chunk(buf.Bytes(), yieldStep) {
		larger.Write(piece)
		runtime.Gosched()
	}
	*buf = *larger
}
