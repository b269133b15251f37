package api

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/foliot/foliot/internal/api/decode"
)

const (
	// maxLoad bounds the bodies of all requests under way, in bytes.
	maxLoad = 128 << 20
	// loadStep is the unit of counting, in bytes.
	loadStep = 64 << 10
	// freeLoad is the part of a body that is not counted. Most bodies are smaller,
	// and maxUnderWay bounds their number.
	freeLoad = 8 << 10
)

// shares divides a resource among namespaces. A namespace can take at most as much
// as it leaves free, so a namespace that is alone can take half of most.
// Therefore a part is always free for a namespace that has nothing.
type shares struct {
	most int

	mu    sync.Mutex // guards the rest
	total int
	of    map[string]int // the units taken, by namespace; no value is 0
}

// take takes n units for namespace if its share allows them. It reports whether
// it took them.
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

// room reports whether the share of namespace allows another unit.
func (l *shares) room(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[namespace] < l.most-l.total
}

// add takes n units for namespace, even above its share.
func (l *shares) add(namespace string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.total += n
	l.of[namespace] += n
}

// give returns n units of namespace.
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

// counted is the body of r, counted while it is read.
type counted struct {
	io.Reader
	loads *shares
	r     *request
	free  int // the number of bytes to read before the next step is counted
}

// Read implements io.Reader. It fails if there is no room for the bytes read.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	for c.free -= n; c.free < 0; c.free += loadStep {
		if !c.loads.take(c.r.namespace, loadStep) {
			return n, tooManyAtOnce("", "the running requests of this namespace are too large together: send smaller batches, or fewer of them at the same time")
		}
		c.r.load += loadStep
	}
	return n, err
}

// receive appends body to buf. The caller expects at most most bytes. Other
// goroutines run after each decode.YieldStep, even if the client sends so fast that
// the reader never blocks.
func receive(buf *bytes.Buffer, body io.Reader, most int) error {
	for since := 0; ; {
		if buf.Available() < bytes.MinRead {
			enlarge(buf, max(buf.Len(), min(4*buf.Cap(), most))+bytes.MinRead)
		}
		n, err := body.Read(buf.AvailableBuffer()[:min(buf.Available(), decode.YieldStep)])
		buf.Write(buf.AvailableBuffer()[:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if since += n; since >= decode.YieldStep {
			since = 0
			runtime.Gosched()
		}
	}
}

// enlarge gives buf a capacity of n bytes. bytes.Buffer would clear or copy
// megabytes in one step. A goroutine cannot be preempted during that step, and
// the garbage collector waits for it on all processors. make clears memory in
// small steps.
func enlarge(buf *bytes.Buffer, n int) {
	larger := bytes.NewBuffer(make([]byte, 0, n))
	for piece := range slices.Chunk(buf.Bytes(), decode.YieldStep) {
		larger.Write(piece)
		runtime.Gosched()
	}
	*buf = *larger
}
