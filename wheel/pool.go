package wheel

import (
	"fmt"
	"sync"
)

// Overflow says what a Pool does with a function that finds all workers busy and the queue full.
type Overflow int

const (
	// Block makes Run wait until the queue has room. A shard of a wheel that waits fires nothing meanwhile.
	Block Overflow = iota

	// Drop does not run the function: Run returns false. A wheel counts its
	// timer in Stats.Dropped, and Shutdown does not wait for it.
	Drop

	// Spill gives the function a goroutine of its own.
	Spill
)

// Pool runs functions on a limited number of goroutines, in the order in which they come. It serves one wheel or many:
//
//	pool := wheel.NewPool(8, 1024, wheel.Block)
//	w := wheel.New(wheel.Config{Run: pool}, fire)
//
// A worker is a goroutine that starts when a function comes and ends when none waits: an idle Pool has no goroutine, and
// needs no Close. NewPool makes it. A function that calls runtime.Goexit, or panics where OnPanic is told of it, harms no
// other. A Pool whose Run may block belongs to the testing/synctest bubble where it is used.
//
// A callback that runs in a Pool may do with its wheel whatever a callback may, also close it: even while Run waits for
// room, Close does not, if Config.Run is the Pool itself. What it should not do is call the Run of a Pool that
// blocks: if all workers did, each would wait for the others.
type Pool struct {
	workers, room int
	full          Overflow

	mu      sync.Mutex // guards everything below
	queue   runQueue   // what waits: nothing, unless all workers are busy
	busy    int        // workers
	spilled int        // functions that run on goroutines of their own
	closed  bool
	quiet   chan struct{} // if not nil, closed when nothing runs any more
}

// NewPool returns a Pool that runs up to workers functions at a time (and those that spill over), and lets up to queue
// more wait. It panics if there are no workers, the queue is negative, or full is none of the constants.
func NewPool(workers, queue int, full Overflow) *Pool {
	switch {
	case workers < 1:
		panic(fmt.Sprintf("wheel: NewPool with %d workers, must be at least 1", workers))
	case queue < 0:
		panic(fmt.Sprintf("wheel: NewPool with a queue of %d, must not be negative", queue))
	case full < Block || full > Spill:
		panic(fmt.Sprintf("wheel: NewPool with Overflow %d, must be Block, Drop or Spill", int(full)))
	}
	return &Pool{workers: workers, room: queue, full: full}
}

// Run has a worker call f: at once if a worker is free, otherwise after the
// functions that came before f. It reports true if f runs or will run. If the
// queue is full, the Overflow decides. After Close, Run refuses f and returns
// false.
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

// Close refuses what comes from now on and waits until everything that came before has run. A Run that waits for room
// then returns at once, and its function is run too. Wheels count what is refused as dropped; close them first if nothing
// shall be lost. Close may be called twice, by anyone but a function that runs in the Pool, for which it would wait.
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

// restLocked ends what Close waits for, if nothing runs. Then nothing waits either.
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

// work runs f, and then what waits, until nothing does.
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

// next returns what a worker shall run next. If that is nothing, it is no longer busy.
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

// poolUser is the Runner of a wheel whose Config.Run is a Pool.
type poolUser struct {
	pool    *Pool
	leaving bool // guarded by the lock of the pool
}

// Run is Pool.Run for this wheel.
func (u *poolUser) Run(f func()) bool { return u.pool.offer(f, u) }

// leave is called when the wheel closes. What it has come with is taken, although the queue is full: if Close had to wait
// for room, a callback that calls it might wait for itself.
func (u *poolUser) leave() {
	u.pool.mu.Lock()
	u.leaving = true
	u.pool.queue.unblockFrom(u.pool.room, u)
	u.pool.mu.Unlock()
}
