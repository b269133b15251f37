package idle

import (
	"runtime"
	"time"
)

// startWorkersLocked starts workers for what is waiting, beside those that are in others' code, which may be blocked there. They end when nothing
// is left that they may do.
func (g *Group[C]) startWorkersLocked() {
	todo := g.budgetLocked()
	if g.graceCloses.due(g.grid.now) {
		todo++
	}
	for ; g.workers < min(g.limits.workers, todo+g.outside); g.workers++ {
		go g.work()
	}
}

// budgetLocked is how many of those that wait for a worker may be asked about in this resolution.
func (g *Group[C]) budgetLocked() int {
	if g.limits.maxPerTick == 0 {
		return g.queue.waiting
	}
	return min(g.queue.waiting, g.budget)
}

// work is a worker.
func (g *Group[C]) work() {
	g.mu.Lock()
	defer func() { // also if `on` ends its goroutine, or panics
		g.workers--
		g.startWorkersLocked()
		g.mu.Unlock()
	}()
	g.stepLocked()
	for began := g.elapsed; g.serveLocked(); {
		// A herd is many workers' work for a long time. The driver may have to wait for a processor until then, and whoever is to touch. So a
		// worker takes the steps that are due itself, and makes room for others now and then.
		if g.stepLocked(); g.elapsed-began >= slice {
			g.unlocked(runtime.Gosched)
			began = g.elapsed
		}
	}
}

// slice is for how long a worker goes on before it makes room for others.
const slice = time.Millisecond

// serveLocked does what is to be done first, of each kind one, and returns false if there is nothing. The lock is held when it is called
// and when it returns, but not while others' code runs.
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

// handleLocked asks about a connection whose turn it is, unless there is no longer a reason.
func (g *Group[C]) handleLocked(j job) {
	if g.slots.slot(j.slot).entry == nil { // it has gone
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

// unlocked runs others' code. The lock is held before and after, also if f panics or ends its goroutine.
func (g *Group[C]) unlocked(f func()) {
	g.outside++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.outside--
	}()
	f()
}

// reasonLocked is the last look before `on`: why it is to be called, or zero.
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

// askLocked calls `on` and carries its verdict out.
func (g *Group[C]) askLocked(j job, r Reason) {
	g.slots.note(j.slot).enter(asked)
	g.stats.Asked[r]++
	verdict, c, begun := Keep, g.slots.slot(j.slot).c, g.grid.now
	defer func() {
		g.stepLocked() // the verdict holds from now on, whatever stalled meanwhile
		if g.settleLocked(j.slot, r, verdict, begun) {
			g.closeConnLocked(c)
		}
	}()
	g.unlocked(func() { verdict = g.on(c, r) })
}

// settleLocked carries a verdict out, and tells whether the connection, which the group has forgotten then, is to be closed.
func (g *Group[C]) settleLocked(i uint32, r Reason, v Verdict, begun uint64) (closes bool) {
	switch {
	case g.slots.note(i).is(handed):
		v = Keep
	case g.slots.note(i).is(untracked):
	case v != Close:
		g.stats.Kept[r]++
		g.keepLocked(i, r, v, begun)
		g.scheduleLocked(i)
		return false
	case g.sparedLocked(i, r):
		g.stats.Spared++
		g.scheduleLocked(i)
		return false
	}
	if v == Close {
		g.stats.Closed[r]++
		g.closing++
	}
	g.forgetLocked(i)
	return v == Close
}

// sparedLocked is the last look before a close: whether the peer was heard since `on` was called. Writes do not count: they may be
// its own goodbye.
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

// keepLocked notes from when on a connection that `on` has kept, having been called in step begun, is asked about again for the
// same reason.
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

// chosenLocked returns the steps that KeepFor chose, and false for another verdict.
func (g *Group[C]) chosenLocked(v Verdict) (steps uint64, chosen bool) {
	if v <= 0 {
		return 0, false
	}
	return min(g.grid.steps(time.Duration(v)), longestSteps), true
}
