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

// pool keeps connections between attempts, and closes each after idleTimeout,
// and the oldest ones if there are too many.
type pool struct {
	most int // how many connections it keeps

	mu             sync.Mutex          // guards everything below
	idle           map[poolKey][]*conn // the oldest first
	oldest, newest *conn               // a list of all of them, by idleSince
	count          int
	expiry         *time.Timer // calls expire; nil until the first connection
	armed          bool        // expiry is running
	closed         bool
}

func newPool(most int) *pool { return &pool{most: most, idle: make(map[poolKey][]*conn)} }

// get removes and returns the connection that became idle last, or nil if there
// is none.
func (p *pool) get(key poolKey) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[key]
	if len(kept) == 0 {
		return nil
	}
	return p.removeLocked(key, len(kept)-1)
}

// put keeps c, or closes it.
func (p *pool) put(c *conn) {
	var surplus *conn
	p.mu.Lock()
	switch {
	case p.closed:
		surplus = c
	default:
		p.addLocked(c)
		if p.count > p.most {
			surplus = p.removeLocked(p.oldest.key, 0)
		}
	}
	p.mu.Unlock()
	if surplus != nil {
		surplus.close()
	}
}

func (p *pool) addLocked(c *conn) {
	c.idleSince = time.Now()
	p.idle[c.key] = append(p.idle[c.key], c)
	c.older, p.newest = p.newest, c
	if c.older != nil {
		c.older.newer = c
	} else {
		p.oldest = c
	}
	if !p.armed {
		p.armLocked(idleTimeout)
	}
	p.count++
}

// removeLocked removes the connection at index i of its key; the oldest of all
// connections is the first of its key.
func (p *pool) removeLocked(key poolKey, i int) *conn {
	c := p.idle[key][i]
	if p.idle[key] = slices.Delete(p.idle[key], i, i+1); len(p.idle[key]) == 0 {
		delete(p.idle, key)
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		p.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		p.newest = c.older
	}
	c.older, c.newer = nil, nil
	p.count--
	return c
}

// armLocked calls expire after wait.
func (p *pool) armLocked(wait time.Duration) {
	p.armed = true
	if p.expiry == nil {
		p.expiry = time.AfterFunc(wait, p.expire)
		return
	}
	p.expiry.Reset(wait)
}

// expire closes the connections that have been idle for idleTimeout.
func (p *pool) expire() {
	for _, c := range p.expired(time.Now()) {
		c.close()
	}
}

func (p *pool) expired(now time.Time) (old []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	for p.oldest != nil {
		if wait := p.oldest.idleSince.Add(idleTimeout).Sub(now); wait > 0 && !p.closed {
			p.armLocked(wait)
			break
		}
		old = append(old, p.removeLocked(p.oldest.key, 0))
	}
	return old
}

// close closes all kept connections, and those that come later.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.expiry != nil {
		p.expiry.Stop()
	}
	p.mu.Unlock()
	p.expire()
}
