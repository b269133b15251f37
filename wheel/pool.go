package wheel

import (
	"fmt"
	"runtime"
	"sync"
)

// Overflow is the policy of a Pool for a function that arrives while all
// workers are busy and the queue is full.
type Overflow int

const (
	// Block makes Run wait until the queue has room. While it waits, the shard
	// of the wheel that called it fires nothing.
	Block Overflow = iota

	// Drop does not run the function: Run returns false, and a wheel counts its
	// timer in Stats.Dropped, and Shutdown does not wait for it.
	Drop

	// Spill gives the function a goroutine of its own.
	Spill
)

// Pool is a Runner that calls functions on a limited number of goroutines, in
// the order in which they arrive. It serves one wheel or several:
//
//	pool := wheel.NewPool(wheel.PoolConfig{Workers: 8, Queue: 1024})
//	w := wheel.New(wheel.Config{Run: pool}, fire)
//
// NewPool makes a Pool; the zero Pool does not work. A worker is a goroutine
// that starts when a function arrives and ends when none waits, so an idle Pool
// has no goroutine, and needs no Close. If a function calls runtime.Goexit, or
// panics in a wheel with OnPanic, the other functions still run.
//
// A callback that runs in a Pool may call every method of its wheel, even
// Close, if Config.Run is the Pool itself and not a wrapper around it. A
// callback should not call Run of a Pool that blocks: if all workers did that,
// they would deadlock.
type Pool struct {
	workers, room int
	full          Overflow

	mu      sync.Mutex // guards everything below
	queue   runQueue   // functions that wait; empty unless all workers are busy
	busy    int        // workers
	spilled int        // functions that run on goroutines of their own
	closed  bool
	quiet   chan struct{} // if not nil, closed when no function runs any more
}

// PoolConfig configures a Pool. The zero PoolConfig has a worker for each
// processor, and its Run blocks until one is free.
type PoolConfig struct {
	// Workers is the highest number of functions that run at a time, except
	// those of Spill. Zero means GOMAXPROCS. Workers must not be negative.
	Workers int

	// Queue is the highest number of functions that wait while all workers are
	// busy. Zero means none. Queue must not be negative.
	Queue int

	// Full is the policy for a function that arrives while the queue is full.
	// Zero means Block.
	Full Overflow
}

// NewPool returns a Pool, and panics if cfg is invalid, because that is a bug of
// the caller.
func NewPool(cfg PoolConfig) *Pool {
	switch {
	case cfg.Workers < 0:
		panic(fmt.Sprintf("wheel: PoolConfig.Workers is %d, but must be at least 1, or 0 for GOMAXPROCS", cfg.Workers))
	case cfg.Queue < 0:
		panic(fmt.Sprintf("wheel: PoolConfig.Queue is %d, but must not be negative", cfg.Queue))
	case cfg.Full < Block || cfg.Full > Spill:
		panic(fmt.Sprintf("wheel: PoolConfig.Full is %d, but must be Block, Drop or Spill", int(cfg.Full)))
	case cfg.Workers == 0:
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return &Pool{workers: cfg.Workers, room: cfg.Queue, full: cfg.Full}
}

// Run passes f to a worker: at once if a worker is free, otherwise after the
// functions that came before f. It returns true if f has run or will run. If
// the queue is full, the Overflow decides. After Close, Run refuses f and
// returns false. It panics if f is nil, or if NewPool did not make the Pool.
func (p *Pool) Run(f func()) bool {
	if f == nil {
		panic("wheel: Run of a Pool without a function")
	}
	p.mustBeMade()
	return p.offer(f, nil)
}

func (p *Pool) mustBeMade() {
	if p == nil || p.workers == 0 {
		panic("wheel: Pool that was not made by NewPool")
	}
}

// Close makes the Pool refuse new functions, and waits until all functions that
// it has accepted have run. A call of Run that waits for room returns at once,
// and its function runs too. A wheel drops timers if the Pool refuses their
// functions (Stats.Dropped), so close the wheels first. Close may be called
// several times. A function that runs in the Pool must not call it, because it
// would wait for itself.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.queue.unblockFrom(p.room, nil)
	if p.quiet == nil {
		p.quiet = make(chan struct{})
		p.restLocked()
	}
	quiet := p.quiet
	p.mu.Unlock()
	<-quiet
}

// restLocked wakes Close if no function is running, because then the queue is
// empty too.
func (p *Pool) restLocked() {
	if p.closed && p.busy == 0 && p.spilled == 0 {
		close(p.quiet)
	}
}

// offer is Run for the wheel u, or for no wheel if u is nil.
func (p *Pool) offer(f func(), u *poolUser) (taken bool) {
	p.mu.Lock()
	switch full := p.queue.n >= p.room; {
	case p.closed || p.busy == p.workers && full && p.full == Drop:
		p.mu.Unlock()
		return false
	case p.busy < p.workers:
		p.busy++
		go p.work(f)
	case !full:
		p.queue.push(queued{f: f})
	case p.full == Spill:
		p.spilled++
		go p.spill(f)
	case u != nil && u.leaving:
		p.queue.push(queued{f: f})
	default:
		unblocked := make(chan struct{})
		p.queue.push(queued{f, u, unblocked})
		p.mu.Unlock()
		<-unblocked
		return true
	}
	p.mu.Unlock()
	return true
}

// work runs f, and then the functions that wait, until there are none.
func (p *Pool) work(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if next := p.next(); next != nil { // f has ended this goroutine
			go p.work(next)
		}
	}()
	for ; f != nil; f = p.next() {
		f()
	}
	returned = true
}

// next returns the next function for a worker, or nil if there is none, and
// then the worker no longer counts as busy.
func (p *Pool) next() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue.n == 0 {
		p.busy--
		if p.busy == 0 {
			p.queue.shrink()
		}
		p.restLocked()
		return nil
	}
	f := p.queue.pop()
	if p.room > 0 && p.queue.n >= p.room {
		p.queue.at(p.room - 1).unblock() // it has moved up into the queue
	}
	return f
}

func (p *Pool) spill(f func()) {
	defer func() {
		p.mu.Lock()
		p.spilled--
		p.restLocked()
		p.mu.Unlock()
	}()
	f()
}

// poolUser is the Runner of a wheel that has a Pool as its Config.Run.
type poolUser struct {
	pool    *Pool
	leaving bool // guarded by the lock of the pool
}

// Run is Pool.Run for this wheel.
func (u *poolUser) Run(f func()) bool { return u.pool.offer(f, u) }

// leave is called when the wheel closes. From then on the Pool accepts the
// functions of this wheel even if the queue is full. Otherwise a callback that
// calls Close might wait for room that only its own return makes.
func (u *poolUser) leave() {
	u.pool.mu.Lock()
	u.leaving = true
	u.pool.queue.unblockFrom(u.pool.room, u)
	u.pool.mu.Unlock()
}
