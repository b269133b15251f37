package wheel

import (
	"fmt"
	"reflect"
	"sync"
)

// Overflow says what a Pool does with a function that finds all workers busy and the queue full.
type Overflow int

const (
	// Block makes Run wait until the queue has room. A shard of a wheel that waits fires nothing meanwhile.
	Block Overflow = iota

	// Drop does not run the function. A wheel counts its timer in Stats.Dropped, and Shutdown does not wait for it. But it
	// learns of that only if Config.Run is the Run of the Pool itself: if that is called by another function, the timer counts
	// as fired, and Shutdown waits for it until its context is done.
	Drop

	// Spill gives the function a goroutine of its own.
	Spill
)

// Pool runs functions on a limited number of goroutines, in the order in which they come. It serves one wheel or many:
//
//	pool := wheel.NewPool(8, 1024, wheel.Block)
//	w := wheel.New(wheel.Config{Run: pool.Run}, fire)
//
// A worker is a goroutine that starts when a function comes and ends when none waits: an idle Pool has no goroutine, and
// needs no Close. NewPool makes it. A function that calls runtime.Goexit, or panics where OnPanic is told of it, harms no
// other. A Pool whose Run may block belongs to the testing/synctest bubble where it is used.
//
// A callback that runs in a Pool may do with its wheel whatever a callback may, also close it: even while Run waits for
// room, Close does not, if Config.Run is the Run of the Pool itself. What it should not do is call the Run of a Pool that
// blocks: if all workers did, each would wait for the others.
type Pool struct {
	workers, room int
	full          Overflow

	mu      sync.Mutex // guards everything below
	line    line       // what waits: nothing, unless all workers are busy
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

// Run has f called by a worker: at once if one is free, else when f's turn comes. If the queue is full it does what the
// Overflow says. After Close it drops f.
func (p *Pool) Run(f func()) {
	switch {
	case f == nil:
		panic(nilFunc{p})
	case p.workers == 0:
		panic("wheel: Run of a Pool that was not made by NewPool")
	}
	p.offer(f, nil)
}

// Close refuses what comes from now on and waits until everything that came before has run. A Run that waits for room
// then returns at once, and its function is run too. Wheels count what is refused as dropped; close them first if nothing
// shall be lost. Close may be called twice, by anyone but a function that runs in the Pool, for which it would wait.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.line.admit(p.room, nil)
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

// offer is Run, and reports whether f has been taken: it will be called. g is the wheel whose it is, or nil.
func (p *Pool) offer(f func(), g *guest) (taken bool) {
	p.mu.Lock()
	switch full := p.line.n >= p.room; {
	case p.closed || p.busy == p.workers && full && p.full == Drop:
		p.mu.Unlock()
		return false
	case p.busy < p.workers:
		p.busy++
		go p.work(f)
	case !full:
		p.line.push(waiting{f: f})
	case p.full == Spill:
		p.spilled++
		go p.spill(f)
	case g != nil && g.leaving:
		p.line.push(waiting{f: f})
	default:
		admitted := make(chan struct{})
		p.line.push(waiting{f, g, admitted})
		p.mu.Unlock()
		<-admitted
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
	if p.line.n == 0 {
		p.busy--
		if p.busy == 0 {
			p.line.shrink()
		}
		p.restLocked()
		return nil
	}
	f := p.line.pop()
	if p.room > 0 && p.line.n >= p.room {
		p.line.at(p.room - 1).admit() // it has moved up into the queue
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

// guest is a wheel that a Pool serves.
type guest struct {
	pool    *Pool
	leaving bool // guarded by the lock of the pool
}

func (g *guest) offer(f func()) (taken bool) { return g.pool.offer(f, g) }

// leave is called when the wheel closes. What it has come with is taken, although the queue is full: if Close had to wait
// for room, a callback that calls it might wait for itself.
func (g *guest) leave() {
	g.pool.mu.Lock()
	g.leaving = true
	g.pool.line.admit(g.pool.room, g)
	g.pool.mu.Unlock()
}

// nilFunc is what Run panics with if it is given no function. It names the Pool, and so poolOf finds it.
type nilFunc struct{ pool *Pool }

func (nilFunc) Error() string { return "wheel: Run of a Pool without a function" }

// poolOf returns the Pool whose Run this is, or nil. All values of that method share their code; a function that calls it
// does not.
func poolOf(run func(func())) (p *Pool) {
	if code(run) != code((*Pool)(nil).Run) {
		return nil
	}
	defer func() {
		if p = recover().(nilFunc).pool; p == nil || p.workers == 0 {
			panic("wheel: Config.Run is that of a Pool which was not made by NewPool")
		}
	}()
	run(nil)
	return nil
}

func code(run func(func())) uintptr { return reflect.ValueOf(run).Pointer() }
