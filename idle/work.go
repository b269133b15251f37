package idle

import (
	"io"
	"math"
	"runtime"
	"time"
)

// expirer is a connection of ours that is closed in two steps, so that those who are blocked in it learn why and can clean up.
type expirer interface {
	// expire ends the connection. It returns nil if it is closed, and else what closes it after a grace. That returns false if its owner
	// has closed it until then, and told the group so by parted.
	expire() (later func() bool)
}

// grace is what a connection's own readers and writers have to clean up.
const grace = time.Second

// hireLocked starts workers for what is waiting, beside those that are in others' code, which may be blocked there. They end when nothing
// is left that they may do.
func (g *Group[C]) hireLocked() {
	todo := g.lines.waiting
	if g.limits.maxPerTick > 0 {
		todo = min(todo, g.allowed)
	}
	if g.leavesLocked() {
		todo++
	}
	for ; g.workers < min(g.limits.workers, todo+g.away); g.workers++ {
		go g.work()
	}
}

func (g *Group[C]) leavesLocked() bool { return len(g.leavers) > 0 && g.leavers[0].step <= g.grid.now }

// work is a worker.
func (g *Group[C]) work() {
	g.mu.Lock()
	defer func() { // also if `on` ends its goroutine, or panics
		g.workers--
		g.hireLocked()
		g.mu.Unlock()
	}()
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

// serveLocked does one thing, and returns false if there is none. The lock is held when it is called and when it returns, but not
// while others' code runs.
func (g *Group[C]) serveLocked() bool {
	if g.leavesLocked() {
		last := g.leavers[0].close
		g.leavers[0] = leaver{}
		if g.leavers = g.leavers[1:]; len(g.leavers) == 0 {
			g.leavers = nil
		}
		var done bool
		if g.unlocked(func() { done = last() }); done {
			g.closedLocked()
		}
	}
	if g.limits.maxPerTick > 0 && g.allowed == 0 {
		return g.leavesLocked()
	}
	j, ok := g.lines.pop()
	if !ok {
		return g.leavesLocked()
	}
	if g.seats.seat(j.seat).entry == nil {
		g.seats.leave(j.seat)
		return true
	}
	if r := g.reasonLocked(j); r != 0 {
		g.allowed--
		g.askLocked(j, r)
	} else {
		g.placeLocked(j.seat)
	}
	return true
}

func (g *Group[C]) unlocked(f func()) {
	g.away++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.away--
	}()
	f()
}

// reasonLocked is the last look before `on`: why it is to be called, or zero.
func (g *Group[C]) reasonLocked(j job) Reason {
	if j.why == becauseDue {
		r, due := g.nextLocked(j.seat)
		if due > g.grid.now {
			g.stats.Saved++
			return 0
		}
		return r
	}
	s := g.sightLocked(j.seat)
	switch {
	case s.busy && g.seats.seat(j.seat).entry.owe():
		return 0
	case s.held[Evicted] > g.grid.now:
		return 0
	case j.why == becauseIdlest && uint32(s.used()) != j.seen:
		g.stats.Saved++
		return 0
	}
	return Evicted
}

// askLocked calls `on` and carries its verdict out.
func (g *Group[C]) askLocked(j job, r Reason) {
	g.seats.note(j.seat).enter(asked)
	g.stats.Asked[r]++
	verdict, c, begun := Keep, g.seats.seat(j.seat).c, g.grid.now
	defer func() {
		if g.settleLocked(j.seat, r, verdict, begun) {
			g.partLocked(c)
		}
	}()
	g.unlocked(func() { verdict = g.on(c, r) })
}

// settleLocked carries a verdict out, and tells whether the connection, which the group has forgotten then, is to be closed.
func (g *Group[C]) settleLocked(i uint32, r Reason, v Verdict, begun uint64) (closes bool) {
	switch {
	case g.seats.note(i).is(leaving):
	case v != Close:
		g.stats.Kept[r]++
		g.keepLocked(i, r, v, begun)
		g.placeLocked(i)
		return false
	case g.savedLocked(i, r):
		g.stats.Saved++
		g.placeLocked(i)
		return false
	}
	if v == Close {
		g.stats.Closed[r]++
		g.closing++
	}
	g.forgetLocked(i)
	return v == Close
}

// savedLocked is the last look before a close: whether the peer was heard since `on` was called. Writes do not count: they may be
// its own goodbye.
func (g *Group[C]) savedLocked(i uint32, r Reason) bool {
	s := g.sightLocked(i)
	switch r {
	case Age, Evicted:
		return s.busy && g.seats.seat(i).entry.owe()
	case Ping:
		return false
	case WriteIdle:
		return s.busy && !g.kernel
	case AllIdle:
		s.write = 0
	}
	return g.policy.due(r, &s, g.grid.floor) > g.grid.now
}

// keepLocked notes from when on a connection that `on` has kept, having been called in step begun, is asked about again for the
// same reason.
func (g *Group[C]) keepLocked(i uint32, r Reason, v Verdict, begun uint64) {
	now, wait := g.grid.now, g.policy.again(r)
	if v > 0 {
		wait = min(g.grid.steps(time.Duration(v)), longestSteps)
	}
	switch {
	case r == Ping:
		g.pingedLocked(i, begun)
		if r = PongTimeout; v < 0 {
			wait = g.policy.pong
			if now == begun { // runs from the ping, and needs no note
				wait = 0
				g.seats.release(i, r)
			}
		}
	case r == PongTimeout && v < 0:
		n := g.seats.note(i)
		n.clear(pinging)
		n.missed = 0
		g.seats.seat(i).entry.pinged = uint32(now)
		return
	}
	if wait > 0 {
		g.seats.hold(i, r, now+wait)
	}
}

// pingedLocked notes a ping. It may have been answered before `on` returned, so what counts is when that was begun: whatever came since
// then answers it, and the one before too.
func (g *Group[C]) pingedLocked(i uint32, begun uint64) {
	n := g.seats.note(i)
	if n.is(pinging) && n.missed < math.MaxUint8 {
		n.missed++
	}
	n.set(pinging)
	g.seats.seat(i).entry.pinged = uint32(begun)
}

// partLocked closes a connection that the group has forgotten, or begins to.
func (g *Group[C]) partLocked(c C) {
	var later func() bool
	defer func() {
		if later == nil {
			g.closedLocked()
			return
		}
		g.driveLocked()
		g.leavers = append(g.leavers, leaver{g.grid.now + g.grid.steps(grace), later})
	}()
	g.unlocked(func() {
		switch x := any(c).(type) {
		case expirer:
			later = x.expire()
		case io.Closer:
			hangUp(x)
		}
	})
}

// parted says that the owner of a connection has closed it within the grace.
func (g *Group[C]) parted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closedLocked()
}

func (g *Group[C]) closedLocked() {
	g.closing--
	g.emptyLocked()
}
