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

// Config configures a wheel. The zero Config is a good choice.
type Config struct {
	// Tick is the resolution. Deadlines are rounded up to a multiple of it, so
	// a timer is late by up to one tick, and the timers of one tick share a
	// wake-up. A short tick costs more wake-ups if many timers are due at
	// different times, but nothing while no timer is due. Zero means 1 ms, and
	// other values must be at least 100 µs.
	Tick time.Duration

	// Shards is the number of shards. Timers are spread over them, and each has
	// its own lock and driver. Shards must be 0 to 256 and is rounded up to a
	// power of two. A shard in use takes about 80 kB, so 1 is enough for a
	// small wheel, or for each of very many wheels. Zero means GOMAXPROCS, but
	// at most 256.
	Shards int

	// MaxPending limits the number of pending timers. A timer above the limit
	// is refused: Add and Keyed.Set return ErrFull, Timer.Err returns ErrFull,
	// and Stats.Refused counts it. The limit is exact, even under contention,
	// and costs one atomic counter that all adds and removals share. Zero means
	// no limit, except 2^28 timers for each shard. MaxPending must not be
	// negative.
	MaxPending int

	// Run decides where callbacks run: Go, Inline, a Pool, or a Runner of your
	// own. nil means Go, and New panics for a nil RunnerFunc and for a Pool
	// that NewPool did not make.
	//
	// A callback must not wait for another timer of the wheel if the Runner can
	// block until callbacks return, because the other timer may be in the
	// blocked shard. That is the case for Inline, and for a Pool with Block.
	// Timers.Sleep is the exception: it always returns.
	Run Runner

	// OnPanic is called after a panic in a callback, with the panic's value and
	// the stack, on the goroutine that panicked, and then the wheel continues.
	// If OnPanic is nil, the program crashes, as with package time.
	OnPanic func(v any, stack []byte)
}

// settings is the state that the shards of a wheel share. It is immutable,
// except for base and the counter in limit.
type settings[T any] struct {
	// base is the time at which the ticks begin: the first use, so a wheel that
	// was created outside a testing/synctest bubble may be used in one. base is
	// written once, under starting, before started is set, so code that has
	// seen started, or that holds a node, may read it without the lock.
	base     time.Time
	started  atomic.Bool
	starting sync.Mutex

	tick      time.Duration
	lastTick  uint64 // the last tick that starts within maxDuration of the base
	fire      func(ID, T)
	fireBatch func([]Expired[T]) // exactly one of fire and fireBatch is set
	runner    Runner             // Config.Run; a *poolUser in place of a Pool
	inline    bool               // runner is Inline
	closing   func()             // if not nil, called when the wheel closes, before Close waits
	trusted   bool               // runner is Go or a Pool: it calls f once, or never if it refuses f
	detached  bool               // runner is Go or a Pool that does not block: it waits for no callback
	onPanic   func(any, []byte)
	limit     *limit           // nil: none
	wallNow   func() time.Time // the wall clock: time.Now, except in tests

	_       [64]byte      // refusals must not slow down readers of the fields above
	refused atomic.Uint64 // Stats.Refused; any goroutine adds to it
	_       [56]byte

	// Hooks of the types that are built on Wheel in this package; each may be
	// nil. direct is called without the lock, on the driver's goroutine.
	// dropped is called without the lock, on the goroutine that called Run.
	direct  func(T) (yes bool) // call fire at once, without Run: it is short and does not panic
	dropped func(id ID, v T)   // a timer that expired will never be given to fire

	// setBack may be nil. It is called on the driver's goroutine, without the
	// lock, if timers of the wall clock are pending and that clock was set back.
	setBack func(sh *shard[T])

	// expiring may be nil. It is called under the shard's lock, when a timer
	// expires or is drained, and its cell still holds the value.
	expiring func(sh *shard[T], index uint32)
}

// newSettings fills in the defaults, and panics if cfg is invalid, because that
// is a bug of the caller.
func newSettings[T any](cfg Config) (s *settings[T], shards int) {
	switch {
	case cfg.Tick == 0:
		cfg.Tick = defaultTick
	case cfg.Tick < minTick:
		panic(fmt.Sprintf("wheel: Config.Tick is %v, but must be at least %v", cfg.Tick, minTick))
	}
	switch {
	case cfg.Shards < 0 || cfg.Shards > maxShards:
		panic(fmt.Sprintf("wheel: Config.Shards is %d, but must be 0 to %d", cfg.Shards, maxShards))
	case cfg.Shards == 0:
		cfg.Shards = min(runtime.GOMAXPROCS(0), maxShards)
	}
	if cfg.MaxPending < 0 {
		panic(fmt.Sprintf("wheel: Config.MaxPending is %d, but must not be negative", cfg.MaxPending))
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
	case RunnerFunc:
		if r == nil {
			panic("wheel: Config.Run is a nil RunnerFunc: leave Run nil to use Go")
		}
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

// limit counts the pending timers of all shards, and allows any number if it is
// nil.
type limit struct {
	max int64
	n   atomic.Int64 // pending timers and those about to be added; changed by CAS, so it never exceeds max
}

// reserve reserves room for one timer, or reports false if there is none.
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

// free releases the room of timers that are no longer pending.
func (l *limit) free(timers int) {
	if l != nil {
		l.n.Add(-int64(timers))
	}
}
