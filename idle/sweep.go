package idle

import "time"

// batch is the number of connections that a sweep checks before it releases the
// lock: about ten microseconds of work.
const batch = 256

// driveLocked starts the driver if it is not running, in which case no step was
// counted, and no connection was tracked.
func (g *Group[C]) driveLocked() {
	g.stepLocked() // a stall may have just ended: a new connection must not begin before its end
	if g.driven {
		return
	}
	g.driven = true
	g.rearmLocked()
}

// tick is the driver: it counts steps, also during a long sweep, and sweeps
// after each.
func (g *Group[C]) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tracked == 0 && g.queue.waiting == 0 && len(g.graceCloses) == 0 {
		g.driven = false
		return
	}
	g.stepLocked()
	g.rearmLocked()
	if g.sweeping {
		return
	}
	g.sweeping = true
	for g.sweepLocked() {
		g.mu.Unlock()
		g.mu.Lock()
	}
	g.sweeping = false
}

// sweepLocked checks a batch of connections with fired timers, and reports
// whether there may be more. To check one is to wait for its slot and its entry
// from memory. So it reads all slots before it needs the first, and then all
// entries, and the processor waits for many at a time.
func (g *Group[C]) sweepLocked() (more bool) {
	g.fired = g.fired[:0]
	more = g.core.Advance(g.grid.now, batch, g.onFire) == batch
	var entries [batch]*Entry
	var warm uint32
	for k, i := range g.fired {
		entries[k] = g.slots.slot(i).entry
		warm |= uint32(g.slots.note(i).state)
	}
	for k := range g.fired {
		warm |= entries[k].read.Load()
	}
	g.warm = warm
	for _, i := range g.fired {
		g.scheduleLocked(i)
	}
	g.startWorkersLocked()
	return more
}

// stepLocked takes the current step, if it is new.
func (g *Group[C]) stepLocked() {
	g.elapsed = time.Since(g.start)
	if g.grid.advance(g.elapsed) && g.tracked > 0 {
		g.stats.Stalls++
	}
	if now := uint32(g.grid.now); g.clock.now.Load() != now {
		g.clock.now.Store(now)
	}
	if resolution := g.grid.now / 2; resolution != g.budgetOf {
		g.budgetOf, g.budget = resolution, g.limits.maxPerTick
	}
}

func (g *Group[C]) rearmLocked() {
	wait := g.grid.place(g.grid.now+1) - time.Since(g.start)
	if g.driver == nil {
		g.driver = time.AfterFunc(wait, g.tick)
		return
	}
	g.driver.Reset(wait)
}

// scheduleLocked puts a connection without a timer into the work queue if a
// reason is due, and otherwise sets a timer.
func (g *Group[C]) scheduleLocked(i uint32) {
	_, due := g.nextLocked(i)
	if due <= g.grid.now {
		g.queueLocked(job{slot: i, why: becauseDue})
		return
	}
	g.slots.slot(i).timer, _ = g.core.Add(g.checkStepLocked(i, due), i) // it has room for maxSlots
	g.slots.note(i).enter(waiting)
}

func (g *Group[C]) queueLocked(j job) {
	g.slots.note(j.slot).enter(queued)
	g.queue.push(j, g.grid.now)
}

// recheckLocked checks a waiting connection again, because a cause other than
// time has changed.
func (g *Group[C]) recheckLocked(i uint32) {
	_, due := g.nextLocked(i)
	s := g.slots.slot(i)
	if due > g.grid.now {
		g.core.Reset(s.timer, g.checkStepLocked(i, due))
		return
	}
	g.core.Remove(s.timer)
	g.queueLocked(job{slot: i, why: becauseDue})
	g.startWorkersLocked()
}

// nextLocked returns the reason that is due first for a connection, and its
// step.
func (g *Group[C]) nextLocked(i uint32) (Reason, uint64) {
	s := g.snapshotLocked(i)
	g.updateNotesLocked(i, &s)
	r, due := g.policy.next(&s, &g.grid)
	if r == Age && due <= g.grid.now && s.busy {
		if g.slots.slot(i).entry.use.requestNotice() {
			s.ignoreAge = true
		} else {
			s = g.snapshotLocked(i) // the request has just ended
		}
		r, due = g.policy.next(&s, &g.grid)
	}
	return r, due
}
