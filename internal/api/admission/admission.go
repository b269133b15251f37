// Package admission bounds what clients use of a server at the same time, and how
// often.
//
//   - The units of a namespace bound its requests under way and their memory, so
//     one namespace leaves most of the server to the others. Clients without a
//     token are one more namespace.
//   - The units of the server bound the memory of all requests.
//   - Turns bound the work that takes milliseconds of a processor, so that
//     goroutines that deliver tasks find a free one.
//   - Token buckets bound the rates of a namespace.
//
// Package httpserver bounds connections, and the store the number and bytes of tasks.
package admission

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/tokenbucket"
)

// UnitBytes is the memory of one unit: a small request with its body and its reply.
const UnitBytes = 64 << 10

// The weights of requests, in units. A change weighs Small, and a unit for each
// UnitBytes of its body.
const (
	Small  = 1
	Read   = 8                  // the reply may contain a large body
	Medium = 16                 // a change by filter, or a body of unknown length
	Large  = namespaceUnits / 4 // a list or a count, and the largest body
)

// MaxPolls bounds the requests of one namespace that wait for a task or watch the
// server, at about 45 KB with its connection.
const MaxPolls = 5000

const (
	namespaceUnits = 256
	serverUnits    = 16 * namespaceUnits
	// heavyUnits bounds the units of requests of a namespace that weigh more than a
	// read, so that small requests always find some.
	heavyUnits = 3 * Large
	// maxWaiting bounds the requests of one namespace that wait for units, and
	// maxWaitingAll those of all, at about 20 KB each.
	maxWaiting    = 1 << 13
	maxWaitingAll = 1 << 14
	longestWait   = 5 * time.Second // for units
)

// ErrBusy refuses a request that the client may repeat soon.
var ErrBusy = errors.New("too many requests of this namespace, or of clients without a token, are running")

// Gate admits the requests to one server. All methods may be called concurrently.
type Gate struct {
	units, turns *semaphore.Weighted
	waiting      atomic.Int32
	tenants      sync.Map // of namespaces, which operators create: string to *tenant
}

// tenant is the use of one namespace.
type tenant struct {
	units, heavy, polls *semaphore.Weighted
	waiting             atomic.Int32

	mu      sync.Mutex // guards buckets
	buckets map[settings.Rate]*tokenbucket.Bucket
}

// New returns a gate with a number of turns.
func New(turns int) *Gate {
	return &Gate{units: semaphore.NewWeighted(serverUnits), turns: semaphore.NewWeighted(int64(turns))}
}

func (g *Gate) tenant(namespace string) *tenant {
	if t, ok := g.tenants.Load(namespace); ok {
		return t.(*tenant)
	}
	t, _ := g.tenants.LoadOrStore(namespace, &tenant{
		units: semaphore.NewWeighted(namespaceUnits), heavy: semaphore.NewWeighted(heavyUnits), polls: semaphore.NewWeighted(MaxPolls),
		buckets: map[settings.Rate]*tokenbucket.Bucket{},
	})
	return t.(*tenant)
}

// Turn runs work that takes milliseconds of a processor. It waits for a turn first,
// until ctx ends. The units of a namespace bound the number of its requests that
// wait here, and turns are given in the order of the requests.
func (g *Gate) Turn(ctx context.Context, work func() error) error {
	if err := g.turns.Acquire(ctx, 1); err != nil {
		return err
	}
	defer g.turns.Release(1)
	return work()
}

// Poll counts a request that waits for a task or watches the server, or returns
// false if there are too many. Otherwise the caller must call leave at the end.
func (g *Gate) Poll(namespace string) (leave func(), ok bool) {
	polls := g.tenant(namespace).polls
	return func() { polls.Release(1) }, polls.TryAcquire(1)
}

// Pass has the units of one request. The zero Pass has none. Only the goroutine of
// the request may use it.
type Pass struct {
	gate   *Gate
	tenant *tenant
	weight int64
	from   [3]*semaphore.Weighted // the sources of the units, in the order of their use; nil: none
	inside bool
}

// Enter waits for the units of a request. It returns ErrBusy if they did not come in
// time, or the error of ctx if that ended; the caller must call Leave at the end.
func (g *Gate) Enter(ctx context.Context, namespace string, weight int64) (Pass, error) {
	t := g.tenant(namespace)
	p := Pass{gate: g, tenant: t, weight: weight, from: [3]*semaphore.Weighted{nil, t.units, g.units}}
	if weight > Read {
		p.from[0] = t.heavy
	}
	err := p.Return(ctx)
	return p, err
}

// Leave gives the units back, and may be called again.
func (p *Pass) Leave() {
	if p.inside {
		p.inside = false
		p.release(len(p.from))
	}
}

// release gives back the units of the first n sources.
func (p *Pass) release(n int) {
	for _, s := range p.from[:n] {
		if s != nil {
			s.Release(p.weight)
		}
	}
}

// take acquires the units of all sources, or none.
func (p *Pass) take(acquire func(*semaphore.Weighted) bool) bool {
	for i, s := range p.from {
		if s != nil && !acquire(s) {
			p.release(i)
			return false
		}
	}
	p.inside = true
	return true
}

// Return takes the units again after Leave.
func (p *Pass) Return(ctx context.Context) error {
	if p.inside || p.gate == nil || p.take(func(s *semaphore.Weighted) bool { return s.TryAcquire(p.weight) }) {
		return nil
	}
	defer p.tenant.waiting.Add(-1)
	defer p.gate.waiting.Add(-1)
	if all := p.gate.waiting.Add(1); p.tenant.waiting.Add(1) > maxWaiting || all > maxWaitingAll {
		return ErrBusy
	}
	waiting, cancel := context.WithTimeoutCause(ctx, longestWait, ErrBusy)
	defer cancel()
	if !p.take(func(s *semaphore.Weighted) bool { return s.Acquire(waiting, p.weight) == nil }) {
		return context.Cause(waiting)
	}
	return nil
}

// Take takes up to n units of a rate of a namespace. It returns the number taken and,
// if that is less than n, the time until the next unit.
func (g *Gate) Take(ns *settings.NamespaceSettings, rate settings.Rate, n int, now time.Time) (taken int, wait time.Duration) {
	taken = n
	g.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) {
		taken, wait = b.Take(now, n, l.PerSecond, l.Burst)
	})
	return taken, wait
}

// TakeAll takes n units if one is available, and later requests wait for the rest:
// a stricter rule would never accept a request with more than the burst. If none
// is available, it takes none and returns the time until one is.
func (g *Gate) TakeAll(ns *settings.NamespaceSettings, rate settings.Rate, n int, now time.Time) (wait time.Duration) {
	if n == 0 {
		return 0
	}
	g.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) {
		var taken int
		if taken, wait = b.Take(now, 1, l.PerSecond, l.Burst); taken == 1 {
			b.Overdraw(now, n-1, l.PerSecond, math.Inf(1))
		}
	})
	return wait
}

// Wait returns the time until a unit is available, and takes none.
func (g *Gate) Wait(ns *settings.NamespaceSettings, rate settings.Rate, now time.Time) (wait time.Duration) {
	g.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) { wait = b.Wait(now, l.PerSecond, l.Burst) })
	return wait
}

// Debit takes n units even if they are not available. In that case later requests
// wait for them, for at most a minute, so that one request does not stop the
// namespace for a day.
func (g *Gate) Debit(ns *settings.NamespaceSettings, rate settings.Rate, n int, now time.Time) {
	const longest = 60 // seconds
	g.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) {
		b.Overdraw(now, n, l.PerSecond, l.Burst+longest*l.PerSecond)
	})
}

// FreeRefusal takes one of the 20 refusals a second that a namespace gets at once,
// and reports whether one was left.
func (g *Gate) FreeRefusal(namespace string, now time.Time) (free bool) {
	const each = 20
	g.tenant(namespace).use("refusals", func(b *tokenbucket.Bucket) {
		taken, _ := b.Take(now, 1, each, each)
		free = taken == 1
	})
	return free
}

// limited calls use with the bucket of a rate, unless the rate has no limit.
func (g *Gate) limited(ns *settings.NamespaceSettings, rate settings.Rate, use func(*tokenbucket.Bucket, settings.RateLimit)) {
	if limit := ns.Limit(rate); !limit.None() {
		g.tenant(ns.Name).use(rate, func(b *tokenbucket.Bucket) { use(b, limit) })
	}
}

// use calls do with the bucket of a rate.
func (t *tenant) use(rate settings.Rate, do func(*tokenbucket.Bucket)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[rate]
	if b == nil {
		b = new(tokenbucket.Bucket)
		t.buckets[rate] = b
	}
	do(b)
}
