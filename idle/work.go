package idle

import (
	"runtime"
	"time"
)

// startWorkersLocked starts workers for the waiting connections, in addition to
// those that run the callback or Close and may be blocked there. Workers end
// when no work is left.
func (g *Group[C]) startWorkersLocked() {
	todo := g.budgetLocked()
	if g.graceCloses.due(g.grid.now) {
		todo++
	}
	for ; g.workers < min(g.limits.workers, todo+g.outside); g.workers++ {
		go g.work()
	}
}

// budgetLocked returns the number of waiting connections that may be asked
// about in this resolution.
func (g *Group[C]) budgetLocked() int {
	if g.limits.maxPerTick == 0 {
		return g.queue.waiting
	}
	return min(g.queue.waiting, g.budget)
}

// work is the goroutine of a worker.
func (g *Group[C]) work() {
	g.mu.Lock()
	defer func() { // even if the callback calls runtime.Goexit or panics
		g.workers--
		g.startWorkersLocked()
		g.mu.Unlock()
	}()
	g.stepLocked()
	for began := g.elapsed; g.serveLocked(); {
		// If very many connections are due, the workers are busy for long, and
		// the driver and goroutines that touch may have to wait for a
		// processor. So a worker takes the due steps itself, and yields now and
		// then.
		if g.stepLocked(); g.elapsed-began >= slice {
			g.unlocked(runtime.Gosched)
			began = g.elapsed
		}
	}
}

// slice is the time after which a worker yields.
const slice = time.Millisecond

// serveLocked handles one connection after its grace time and one waiting
// connection, or returns false if there is neither. The lock is held at the
// call and the return, but not while the callback or Close runs.
func (g *Group[C]) serveLocked() (served bool) {
	if g.graceCloses.due(g.grid.now) {
		g.finishCloseLocked(g.graceCloses.pop())
		served = true
	}
	if g.budgetLocked() > 0 {
		g.handleLocked(g.queue.pop())
		served = true
	}
	return served
}

// handleLocked calls the callback for a connection, unless there is no longer a
// reason.
func (g *Group[C]) handleLocked(j job) {
	if g.slots.slot(j.slot).entry == nil { // it has ended
		g.slots.vacate(j.slot)
		return
	}
	r := g.reasonLocked(j)
	if r == 0 {
		g.scheduleLocked(j.slot)
		return
	}
	if g.limits.maxPerTick > 0 {
		g.budget--
	}
	g.askLocked(j, r)
}

// unlocked runs f, which calls code outside this package, without the lock. The
// lock is held before and after, even if f panics or calls runtime.Goexit.
func (g *Group[C]) unlocked(f func()) {
	g.outside++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.outside--
	}()
	f()
}

// reasonLocked makes the last check before the callback, and returns the
// reason, or zero for none.
func (g *Group[C]) reasonLocked(j job) Reason {
	if j.why == becauseDue {
		r, due := g.nextLocked(j.slot)
		if due > g.grid.now {
			g.stats.Spared++
			return 0
		}
		return r
	}
	s := g.snapshotLocked(j.slot)
	switch {
	case s.busy && g.slots.slot(j.slot).entry.use.requestNotice():
		return 0
	case s.step(Evicted, &g.grid) > g.grid.now:
		return 0
	case j.why == becauseIdlest && int32(uint32(s.used())-j.seen) > g.toleranceLocked(j.slot):
		g.stats.Spared++
		return 0
	}
	return Evicted
}

// askLocked calls the callback and applies its verdict.
func (g *Group[C]) askLocked(j job, r Reason) {
	g.slots.note(j.slot).enter(asked)
	g.stats.Asked.of[r]++
	verdict, c, begun := Keep(), g.slots.slot(j.slot).c, g.grid.now
	defer func() {
		g.stepLocked() // the verdict counts from now on, even if a stall came before
		if g.settleLocked(j.slot, r, verdict, begun) {
			g.closeConnLocked(c)
		}
	}()
	g.unlocked(func() { verdict = g.on(c, r) })
}

// settleLocked applies a verdict, and reports whether to close the connection,
// which the group has then forgotten.
func (g *Group[C]) settleLocked(i uint32, r Reason, v Verdict, begun uint64) (closes bool) {
	switch {
	case g.slots.note(i).is(handed):
		v = Keep()
	case g.slots.note(i).is(untracked):
	case !v.closes:
		g.stats.Kept.of[r]++
		g.keepLocked(i, r, v, begun)
		g.scheduleLocked(i)
		return false
	case g.sparedLocked(i, r):
		g.stats.Spared++
		g.scheduleLocked(i)
		return false
	}
	if v.closes {
		g.stats.Closed.of[r]++
		g.closing++
	}
	g.forgetLocked(i)
	return v.closes
}

// sparedLocked makes the last check before a close: it reports whether the peer
// has spoken since the callback was called. Writes do not count, because they
// may be the program's own goodbye.
func (g *Group[C]) sparedLocked(i uint32, r Reason) bool {
	s := g.snapshotLocked(i)
	switch r {
	case Age, Evicted:
		return s.busy && g.slots.slot(i).entry.use.requestNotice()
	case Ping:
		return false
	case WriteIdle:
		return s.busy && g.slots.raw(i) == nil
	case AllIdle:
		s.write = 0
	}
	return g.policy.due(r, &s, &g.grid) > g.grid.now
}

// keepLocked sets when the callback, called in step begun, is called again for
// the same reason after it kept the connection.
func (g *Group[C]) keepLocked(i uint32, r Reason, v Verdict, begun uint64) {
	wait, chosen := g.chosenLocked(v)
	switch {
	case r == Ping:
		g.pingedLocked(i, v, begun)
	case chosen:
		g.slots.hold(i, r, g.grid.now+wait)
	case r == PongTimeout:
		g.resetPingsLocked(i)
	case r != Evicted:
		g.slots.keep(i, r, g.grid.now)
	}
}

// chosenLocked returns the steps of a KeepFor, and false for another verdict.
func (g *Group[C]) chosenLocked(v Verdict) (steps uint64, chosen bool) {
	if v.hold == 0 {
		return 0, false
	}
	return min(g.grid.steps(v.hold), longestSteps), true
}
