// Package serverclock estimates the clocks of servers, compared with this
// process's monotonic clock. It makes no calls: Observe is called with the
// servers' replies.
package serverclock

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/trustedclock"
)

// Clocks estimates the clocks of servers relative to the monotonic clock of
// this process, which is never set. The wall clock of this process is never
// read.
//
// Suppose a request was sent at sent, its reply was received at received, and
// the reply contains the server time at. The server read its clock between the
// two. So its clock is ahead of the monotonic one by at least at-received and
// at most at-sent. That stays true until the server's clock is set, apart from
// a drift of at most a thousandth (drift). Replies that agree narrow this band.
// A reply outside the band means that the clock was set, and starts a new band.
//
// Invariant: while no server's clock is set back, the earliest bound is not
// later than any server's clock, and the latest bound is not earlier. Both move
// back only if a server's clock did, or if a server with an earlier clock
// joined. After a step the bounds are wrong until the server's next reply, for
// at most a second. If a task starts too early in that time, put refuses it,
// and the poll finds it again.
type Clocks struct {
	base time.Time // the start of the monotonic clock

	earliest, latest atomic.Int64 // bounds over all bands; written under mu, read without it, so the two need not match

	mu      sync.Mutex // guards of and slowest
	of      map[string]band
	slowest band // the band of the slowest server clock
}

const (
	// drift is the largest drift between two clocks: one part in a thousand.
	// NTP moves a clock by half of that.
	drift = 1000

	// silentFor is how long a server can be silent before its clock no longer
	// counts, if other servers reply.
	silentFor = 10 * time.Second
)

// band bounds how far a server's clock is ahead of the monotonic one, in
// nanoseconds. low and high are the bounds at the start of the monotonic clock.
// At monotonic time m, the bounds are low - m/drift and high + m/drift.
type band struct {
	low, high int64
	lastReply time.Duration // the monotonic time of the server's last reply
}

func bandOf(at time.Time, sent, received time.Duration) band {
	return band{
		low:       at.UnixNano() - int64(received-received/drift),
		high:      at.UnixNano() + int64(time.Microsecond) - int64(sent+sent/drift), // a reply has a resolution of a microsecond
		lastReply: received,
	}
}

// with returns the band that satisfies both replies.
func (b band) with(news band) band {
	if gap := 2 * int64(news.lastReply/drift); news.high+gap < b.low || news.low-gap > b.high {
		return news
	}
	return band{max(b.low, news.low), min(b.high, news.high), max(b.lastReply, news.lastReply)}
}

// New returns the clocks of servers before any reply.
func New() *Clocks {
	c := &Clocks{base: time.Now(), of: map[string]band{}}
	c.mergeLocked()
	return c
}

// Monotonic returns the time of the monotonic clock.
func (c *Clocks) Monotonic() time.Duration { return time.Since(c.base) }

// Observe records that a server's clock showed micros between two times of the
// monotonic clock.
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

// Prune removes servers for which counts is false, and servers that are silent
// while other servers reply. If no server that counts has replied yet, it
// removes nothing: a newly promoted replica may be the only server that counts.
func (c *Clocks) Prune(counts func(addr string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last time.Duration
	known := false
	for addr, b := range c.of {
		last, known = max(last, b.lastReply), known || counts(addr)
	}
	if !known {
		return
	}
	for addr, b := range c.of {
		if !counts(addr) || last-b.lastReply > silentFor {
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
	if len(c.of) == 0 { // no server has answered
		low, high, slowest = c.base.UnixNano(), c.base.UnixNano(), c.base.UnixNano()
	}
	c.slowest = band{low: low, high: slowest}
	c.earliest.Store(low)
	c.latest.Store(high)
}

// At returns bounds for the servers' clocks at monotonic time m.
func (c *Clocks) At(m time.Duration) (earliest, latest time.Time) {
	return time.Unix(0, int64(m-m/drift)+c.earliest.Load()), time.Unix(0, int64(m+m/drift)+c.latest.Load())
}

// Within returns bounds for the slowest server clock at monotonic time m. The
// earliest bound is the one that At returns.
func (c *Clocks) Within(m time.Duration) (earliest, latest time.Time) {
	c.mu.Lock()
	b := c.slowest
	c.mu.Unlock()
	return time.Unix(0, int64(m-m/drift)+b.low), time.Unix(0, int64(m+m/drift)+b.high)
}

// Ahead returns how far a server's clock is ahead of a wall clock that shows
// now, and the largest error of that value.
func (c *Clocks) Ahead(addr string, now time.Time) (by, unsure time.Duration) {
	m := int64(c.Monotonic())
	c.mu.Lock()
	b := c.of[addr]
	c.mu.Unlock()
	low, high := m-m/drift+b.low, m+m/drift+b.high
	return time.Duration((low+high)/2 - now.UnixNano()), time.Duration((high - low) / 2)
}

// Times are the times of a store that servers keep, and a Store embeds them.
type Times struct {
	clocks    *Clocks
	callers   bool // the callers' clock, which is that of this process, replaces those of the servers
	trusted   *trustedclock.Clock
	othersLag func() time.Duration
}

// NewTimes returns the times by the clocks of servers, unless callers is set. stepped is
// called after a clock stepped ahead. othersLag returns how far the trusted time of other
// nodes lags, because a node that starts after the step learns of it from heartbeats.
func NewTimes(clocks *Clocks, callers bool, log *slog.Logger, stepped func(), othersLag func() time.Duration) *Times {
	t, warn := &Times{clocks: clocks, callers: callers, othersLag: othersLag}, trustedclock.Warn(log)
	t.trusted = trustedclock.NewWithin(func() (earliest, latest time.Time) { return t.bounds((*Clocks).Within) }, func(ahead time.Duration) {
		warn(ahead)
		stepped()
	})
	return t
}

func (t *Times) bounds(at func(*Clocks, time.Duration) (earliest, latest time.Time)) (earliest, latest time.Time) {
	if t.callers {
		return time.Now(), time.Now()
	}
	return at(t.clocks, t.clocks.Monotonic())
}

// Now returns the time by which tasks are due: the estimate of the earliest clock of
// the servers, so that each of them accepts a claim of a task that is due by then.
func (t *Times) Now() time.Time {
	earliest, _ := t.bounds((*Clocks).At)
	return earliest
}

// Latest returns the time from which the delays of requests count. No server's clock
// is later, so an action with a delay never happens too early.
func (t *Times) Latest() time.Time {
	_, latest := t.bounds((*Clocks).At)
	return latest
}

// Trusted returns the time by which tasks expire, records are removed and lost
// leases are taken back. It equals Now, except for some time after the servers'
// clocks stepped ahead, in which nodes extend the leases of attempts under way.
func (t *Times) Trusted() time.Time {
	now, others := t.trusted.Now(), t.Now().Add(-t.othersLag())
	if others.Before(now) {
		return others
	}
	return now
}

// Lag returns how far the trusted time lags.
func (t *Times) Lag() time.Duration { return t.trusted.Lag() }
