// Package serverclock knows what the clocks of servers show, compared with this process's own
// steady clock. It asks no server: Observe is called with their answers.
package serverclock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Clocks is what this process knows of its servers' clocks, compared with its
// own steady one, which no one sets. Its wall clock is never asked.
//
// A server that was asked at sent, answered at received and says that it was
// then at did so between the two. So its clock is ahead of the steady one by at
// least at-received and at most at-sent, and as long as nobody sets it that stays so, but
// for a drift of 1 in drift. Answers that agree narrow this band; one that lies
// outside shows that the clock was set, and begins the band anew.
//
// Invariant: as long as no server's clock is set back, what Now returns is not
// later than any of them, and what Latest returns is not earlier. Both go back
// only where a server's clock did, or an earlier server came. After a step they
// are wrong until the server's next answer, a second at most; what is
// asked for too early meanwhile put refuses, and the poll finds it again.
type Clocks struct {
	base time.Time // of the steady clock

	earliest, latest atomic.Int64 // of all bands; written under mu, read without it: each is right by itself

	mu      sync.Mutex // guards of and slowest
	of      map[string]band
	slowest band // of the clock that is behind the others, whichever it is
}

const (
	// drift: two clocks part by a thousandth at most. NTP moves one by half of that.
	drift = 1000

	// silentFor is how long a server may say nothing before its clock does not count
	// beside those that do.
	silentFor = 10 * time.Second
)

// band is how far a server's clock may be ahead of the steady one, in
// nanoseconds, as if it had been found out when that began: it is low - m/drift to
// high + m/drift when that shows m.
type band struct {
	low, high int64
	heard     time.Duration
}

// bandOf returns the band of one answer.
func bandOf(at time.Time, sent, received time.Duration) band {
	return band{
		low:   at.UnixNano() - int64(received-received/drift),
		high:  at.UnixNano() + int64(time.Microsecond) - int64(sent+sent/drift), // it tells no less
		heard: received,
	}
}

// with returns the band that both answers leave.
func (b band) with(news band) band {
	if gap := 2 * int64(news.heard/drift); news.high+gap < b.low || news.low-gap > b.high {
		return news
	}
	return band{max(b.low, news.low), min(b.high, news.high), max(b.heard, news.heard)}
}

// New returns the clocks of servers of which none has answered yet.
func New() *Clocks {
	c := &Clocks{base: time.Now(), of: map[string]band{}}
	c.mergeLocked()
	return c
}

// Steady returns what the steady clock shows.
func (c *Clocks) Steady() time.Duration { return time.Since(c.base) }

// Observe takes in that a server's clock showed so many microseconds between two
// moments of the steady one.
func (c *Clocks) Observe(addr string, micros int64, sent, received time.Duration) {
	news := bandOf(time.UnixMicro(micros), sent, received)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.of[addr]; ok {
		news = known.with(news)
	}
	c.of[addr] = news
	c.mergeLocked()
}

// Retain forgets the servers that are none of those that count any more, and those
// that say nothing while others do. It keeps all until one that counts was heard: a
// replica that takes a master's place may not have answered yet.
func (c *Clocks) Retain(counts func(addr string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last time.Duration
	known := false
	for addr, b := range c.of {
		last, known = max(last, b.heard), known || counts(addr)
	}
	if !known {
		return
	}
	for addr, b := range c.of {
		if !counts(addr) || last-b.heard > silentFor {
			delete(c.of, addr)
		}
	}
	c.mergeLocked()
}

func (c *Clocks) mergeLocked() {
	low, high, slowest := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64)
	for _, b := range c.of {
		low, high, slowest = min(low, b.low), max(high, b.high), min(slowest, b.high)
	}
	if len(c.of) == 0 { // nobody was heard
		low, high, slowest = c.base.UnixNano(), c.base.UnixNano(), c.base.UnixNano()
	}
	c.slowest = band{low: low, high: slowest}
	c.earliest.Store(low)
	c.latest.Store(high)
}

// At returns the bounds of what the servers' clocks show when the steady one
// shows m.
func (c *Clocks) At(m time.Duration) (earliest, latest time.Time) {
	return time.Unix(0, int64(m-m/drift)+c.earliest.Load()), time.Unix(0, int64(m+m/drift)+c.latest.Load())
}

// Within returns between which times the clock of the servers that is behind the others is
// when the steady one shows m. The earliest of them is that of at.
func (c *Clocks) Within(m time.Duration) (earliest, latest time.Time) {
	c.mu.Lock()
	b := c.slowest
	c.mu.Unlock()
	return time.Unix(0, int64(m-m/drift)+b.low), time.Unix(0, int64(m+m/drift)+b.high)
}

// Ahead returns by how much a server's clock is ahead of a wall clock that shows
// now, and how exactly that is known.
func (c *Clocks) Ahead(addr string, now time.Time) (by, unsure time.Duration) {
	m := int64(c.Steady())
	c.mu.Lock()
	b := c.of[addr]
	c.mu.Unlock()
	low, high := m-m/drift+b.low, m+m/drift+b.high
	return time.Duration((low+high)/2 - now.UnixNano()), time.Duration((high - low) / 2)
}
