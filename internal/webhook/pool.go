package webhook

import (
	"slices"
	"sync"
	"time"
)

// poolKey identifies the connections that one request can use instead of
// another. Requests of two namespaces must not share a connection, because if a
// receiver misreads where a request ends, the rest becomes the beginning of the
// other namespace's request.
type poolKey struct {
	namespace string
	address   string // host:port
	secure    bool   // TLS
}

// sweepEvery is how often the pool looks for connections that were idle for too
// long. Until then conn.begin refuses them.
const sweepEvery = idleTimeout / 4

// pool keeps at most most connections between attempts, and closes each soon after
// idleTimeout.
type pool struct {
	most int

	mu     sync.Mutex          // guards everything below
	idle   map[poolKey][]*conn // the oldest first
	count  int
	armed  bool // sweep will be called
	closed bool
}

func newPool(most int) *pool { return &pool{most: most, idle: make(map[poolKey][]*conn)} }

// get removes and returns the connection that became idle last, or nil if there
// is none.
func (p *pool) get(key poolKey) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle[key])
	if n == 0 {
		return nil
	}
	c := p.idle[key][n-1]
	p.removeLocked(key, n-1, n)
	return c
}

// put keeps c. If the pool is full, it closes the oldest connection of some key, so
// that receivers that are called often find room. A closed pool closes c.
func (p *pool) put(c *conn) {
	if gone := p.keep(c); gone != nil {
		gone.close()
	}
}

func (p *pool) keep(c *conn) (gone *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return c
	}
	if p.count >= p.most {
		for key, kept := range p.idle { // in random order
			gone = kept[0]
			p.removeLocked(key, 0, 1)
			break
		}
	}
	c.idleSince = time.Now()
	p.idle[c.key] = append(p.idle[c.key], c)
	p.count++
	p.armLocked()
	return gone
}

// removeLocked removes the connections of a key from index i to before j.
func (p *pool) removeLocked(key poolKey, i, j int) {
	p.count -= j - i
	if p.idle[key] = slices.Delete(p.idle[key], i, j); len(p.idle[key]) == 0 {
		delete(p.idle, key)
	}
}

func (p *pool) armLocked() {
	if !p.armed {
		p.armed = true
		time.AfterFunc(sweepEvery, p.sweep)
	}
}

// sweep closes the connections that have been idle for idleTimeout, or all if the
// pool is closed.
func (p *pool) sweep() {
	for _, c := range p.old(time.Now().Add(-idleTimeout)) {
		c.close()
	}
}

func (p *pool) old(since time.Time) (old []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	for key, kept := range p.idle {
		n := 0
		for n < len(kept) && (p.closed || !kept[n].idleSince.After(since)) {
			n++
		}
		old = append(old, kept[:n]...)
		p.removeLocked(key, 0, n)
	}
	if p.count > 0 {
		p.armLocked()
	}
	return old
}

// close closes all kept connections, and those that come later.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.sweep()
}
