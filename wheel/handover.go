package wheel

import (
	"runtime/debug"
	"sync/atomic"
)

// A hand-over begins when a timer expires, and ends when Run has returned or the
// callback has begun, whichever is first. A shard has at most one hand-over at a
// time, and Close waits for it. Because the hand-over ends when its callback
// begins, the callback may call Close.

// beginLocked begins the hand-over of timers that have just expired, and returns
// its number.
func (sh *shard[T]) beginLocked(timers int) (number uint64) {
	sh.count.fired += uint64(timers)
	sh.handOvers++
	sh.handing.Store(sh.handOvers)
	sh.held.Add(1)
	return sh.handOvers
}

// handOver passes f to Run. f must call begun first and finished last, and the
// lock must not be held. If f will never run, the timers count as dropped, and
// lost is called if it is not nil.
func (sh *shard[T]) handOver(number uint64, timers int, f, lost func()) {
	run, taken := f, (*atomic.Bool)(nil)
	if !sh.trusted {
		run, taken = once(f)
	}
	accepted := false
	defer func() {
		if sh.handing.CompareAndSwap(number, 0) {
			sh.announceHandedOver()
		}
		if accepted {
			return
		}
		// Run has refused f, panicked or ended this goroutine. From here on, a
		// late call of f does nothing.
		if taken == nil || !taken.Swap(true) {
			sh.lose(timers, lost)
		}
		if sh.onPanic != nil {
			if v := recover(); v != nil {
				sh.reportPanic(v)
			}
		}
	}()
	accepted = sh.runner.Run(run)
}

// lose calls lost, and drops the timers even if lost panics.
func (sh *shard[T]) lose(timers int, lost func()) {
	defer sh.drop(timers)
	if lost != nil {
		lost()
	}
}

// once returns a function that calls f and sets taken, unless taken is set
// already.
func once(f func()) (run func(), taken *atomic.Bool) {
	taken = new(atomic.Bool)
	return func() {
		if !taken.Swap(true) {
			f()
		}
	}, taken
}

// begun ends the hand-over, because the callback begins. If Run has returned
// before, the hand-over has ended already. Then handing is 0 or the number of a
// later hand-over, and begun does nothing.
func (sh *shard[T]) begun(number uint64) {
	if sh.handing.CompareAndSwap(number, 0) {
		sh.announceHandedOver()
	}
}

// announceHandedOver wakes a Close that waits. Close sets closed before it reads
// handing, and here handing is cleared before closed is read, so either this
// goroutine sees closed, or Close sees that handing is cleared.
func (sh *shard[T]) announceHandedOver() {
	if sh.closed.Load() {
		sh.mu.Lock()
		if sh.handedOver != nil && sh.handing.Load() == 0 {
			close(sh.handedOver)
			sh.handedOver = nil
		}
		sh.mu.Unlock()
	}
}

// finished must be called when the callback of a hand-over has ended in any
// way.
func (sh *shard[T]) finished() {
	if sh.held.Add(-1) == 0 && sh.closed.Load() {
		sh.mu.Lock()
		if sh.quiet != nil && sh.held.Load() == 0 {
			close(sh.quiet)
			sh.quiet = nil
		}
		sh.mu.Unlock()
	}
}

// drop counts timers that expired but will never run.
func (sh *shard[T]) drop(timers int) {
	sh.mu.Lock()
	sh.count.fired -= uint64(timers)
	sh.count.dropped += uint64(timers)
	sh.mu.Unlock()
	sh.finished()
}

// call runs the callback for one value.
func (sh *shard[T]) call(number uint64, id ID, v T) {
	sh.begun(number)
	defer sh.finished()
	if sh.onPanic != nil {
		defer sh.recoverPanic()
	}
	sh.fire(id, v)
}

// recoverPanic must be the deferred function, because recover works only there.
func (sh *shard[T]) recoverPanic() {
	if v := recover(); v != nil {
		sh.reportPanic(v)
	}
}

func (sh *shard[T]) reportPanic(v any) {
	sh.mu.Lock()
	sh.count.panics++
	sh.mu.Unlock()
	sh.onPanic(v, debug.Stack())
}
