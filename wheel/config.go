package wheel

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultTick = time.Millisecond
	minTick     = 100 * time.Microsecond
	maxShards   = 256
)

// Config says how a wheel works. The zero Config is a good one.
type Config struct {
	// Tick is the resolution: deadlines are rounded up to a multiple of it, so a timer is late by up to one tick, and
	// timers of one tick share a wake-up. It costs nothing while no timer is due. Default 1 ms, at least 100 µs.
	Tick time.Duration

	// Shards is the number of parts with a lock and a driver of their own, among which the timers are spread. It is
	// rounded up to a power of two. A shard in use holds some 80 kB, so a small wheel, or one of very many, does with 1.
	// Default: the next power of two ≥ GOMAXPROCS; at most 256.
	Shards int

	// MaxPending limits the number of pending timers: Add then returns the zero ID, TryAdd ErrFull. The limit is exact,
	// also under contention, for the price of one atomic counter that all adds and removals share. 0: no limit but the 2^28
	// that a shard can hold. It must not be negative, and Shards neither.
	MaxPending int

	// Run decides where callbacks run: Go, Inline, a Pool, or a Runner of your
	// own. If the Runner may wait for callbacks, as Inline and a Pool that
	// blocks do, a callback must not wait for another timer of the wheel: that
	// timer may be in the shard that waits. Timers.Sleep is the exception.
	// Default: Go.
	Run Runner

	// OnPanic is told of a panic in a callback, with the stack, on the goroutine where it happened; the wheel goes on.
	// nil: the program crashes, as with package time.
	OnPanic func(v any, stack []byte)
}

// settings is what the shards of a wheel share. Immutable, but for the base and the counter in limit.
type settings[T any] struct {
	// base is where the ticks begin: the moment of the first use, so that a wheel which was created outside a
	// testing/synctest bubble may be used inside one. It is written once, under starting, before started is set; whoever
	// has seen started, or holds a node, may read it without.
	base     time.Time
	started  atomic.Bool
	starting sync.Mutex

	tick      time.Duration
	lastTick  uint64 // the last tick whose distance from the base is a time.Duration
	fire      func(ID, T)
	fireBatch func([]Expired[T]) // exactly one of fire and fireBatch is set
	runner    Runner             // Config.Run; a *poolUser in place of a Pool
	inline    bool               // runner is Inline
	closing   func()             // if not nil, called when the wheel closes, before Close waits
	trusted   bool               // runner is Go or a Pool: it calls f once, or never if it refuses f
	detached  bool               // runner is Go or a Pool that does not block: it waits for no callback
	onPanic   func(any, []byte)
	limit     *limit           // nil: none
	wallNow   func() time.Time // the wall clock; time.Now but in tests

	// Hooks for what is built on New's wheel within this package; each may be nil. They are called without the lock, on
	// the driver's goroutine of the shard or, dropped, on that where Run gave up.
	direct  func(T) (yes bool) // call fire at once, whatever Run says: it is short and does not panic
	dropped func(id ID, v T)   // a timer that was claimed will never be given to fire

	// claiming may be nil. It is called under the shard's lock, when a timer is claimed and its cell still holds it.
	claiming func(sh *shard[T], index uint32)
}

// newSettings fills in the defaults. It panics on a Config that makes no sense: that is a bug, not a condition.
func newSettings[T any](cfg Config) (s *settings[T], shards int) {
	switch {
	case cfg.Tick == 0:
		cfg.Tick = defaultTick
	case cfg.Tick < minTick:
		panic(fmt.Sprintf("wheel: Config.Tick is %v, must be at least %v", cfg.Tick, minTick))
	}
	switch {
	case cfg.Shards < 0 || cfg.Shards > maxShards:
		panic(fmt.Sprintf("wheel: Config.Shards is %d, must be 0 to %d", cfg.Shards, maxShards))
	case cfg.Shards == 0:
		cfg.Shards = min(runtime.GOMAXPROCS(0), maxShards)
	}
	if cfg.MaxPending < 0 {
		panic(fmt.Sprintf("wheel: Config.MaxPending is %d, must not be negative", cfg.MaxPending))
	}
	s = &settings[T]{
		tick:     cfg.Tick,
		lastTick: uint64(maxDuration / cfg.Tick),
		runner:   cfg.Run,
		onPanic:  cfg.OnPanic,
		wallNow:  time.Now,
	}
	switch r := cfg.Run.(type) {
	case nil, goRunner:
		s.runner, s.trusted, s.detached = goRunner{}, true, true
	case inlineRunner:
		s.inline = true
	case *Pool:
		r.mustBeMade()
		u := &poolUser{pool: r}
		s.runner, s.closing, s.trusted, s.detached = u, u.leave, true, r.full != Block
	}
	if cfg.MaxPending > 0 {
		s.limit = &limit{max: int64(cfg.MaxPending)}
	}
	return s, 1 << bits.Len(uint(cfg.Shards-1))
}

// limit counts the pending timers of all shards. A nil limit admits everything.
type limit struct {
	max int64
	n   atomic.Int64 // pending timers and those about to be added; changed by CAS, so it never exceeds max
}

// reserve makes room for one timer, or returns false.
func (l *limit) reserve() bool {
	if l == nil {
		return true
	}
	for {
		n := l.n.Load()
		if n >= l.max {
			return false
		}
		if l.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// free gives back the room of timers that are no longer pending.
func (l *limit) free(timers int) {
	if l != nil {
		l.n.Add(-int64(timers))
	}
}
