package idle

import (
	"sync/atomic"
	"time"
)

// batch is how many connections a sweep looks at before it lets go of the lock, for some ten microseconds' work.
const batch = 256

// driveLocked sets the driver going. Nothing was counted while it stood still, and there was nobody to count for.
func (g *Group[C]) driveLocked() {
	if g.driven {
		return
	}
	g.stepLocked()
	g.driven = true
	g.rearmLocked()
}

// tick is the driver: it counts steps, and sweeps after each. The counter goes on while a long sweep is under way.
func (g *Group[C]) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tracked == 0 && g.lines.waiting == 0 && len(g.leavers) == 0 {
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

// sweepLocked looks at a batch of those whose timers have fired, and tells whether there may be more. To look at one means to wait for
// its seat and its entry to come from memory. So all seats are asked for before the first is needed, and then all entries: the
// processor waits for many at a time.
func (g *Group[C]) sweepLocked() (more bool) {
	g.fired = g.fired[:0]
	more = g.core.Advance(g.grid.now, batch, g.look) == batch
	var entries [batch]*Entry
	var warm uint32
	for k, i := range g.fired {
		entries[k] = g.seats.seat(i).entry
		warm |= uint32(g.seats.note(i).state)
	}
	for k := range g.fired {
		warm |= entries[k].read.Load()
	}
	g.warm = warm
	for _, i := range g.fired {
		g.placeLocked(i)
	}
	g.hireLocked()
	return more
}

// stepLocked takes the step that is due, if one is.
func (g *Group[C]) stepLocked() {
	g.elapsed = time.Since(g.start)
	if g.grid.advance(g.elapsed) && g.tracked > 0 {
		g.stats.Stalls++
	}
	if now := uint32(g.grid.now); g.clock.now.Load() != now {
		g.clock.now.Store(now)
	}
	if resolution := g.grid.now / 2; resolution != g.allowing {
		g.allowing, g.allowed = resolution, g.limits.maxPerTick
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

// placeLocked puts a connection where it belongs: into the lines if something is due, and else behind a timer. It has none.
func (g *Group[C]) placeLocked(i uint32) {
	_, due := g.nextLocked(i)
	if due <= g.grid.now {
		g.queueLocked(job{seat: i, why: becauseDue})
		return
	}
	g.seats.seat(i).timer = g.core.Add(g.lookAtLocked(i, due), i)
	g.seats.note(i).enter(waiting)
}

// lookAtLocked returns the step in which a connection is to be looked at, if as things are something is due then. Touches only ever put
// that off, but for a pong, after which the next ping may come before this one would have been missed. And a look now and then keeps all
// steps of a connection within 32 bits of the present one.
func (g *Group[C]) lookAtLocked(i uint32, due uint64) uint64 {
	if g.seats.note(i).is(pinging) {
		due = min(due, g.grid.now+g.policy.ping-g.policy.pingSpread)
	}
	return min(due, g.grid.now+longestSteps)
}

func (g *Group[C]) queueLocked(j job) {
	g.seats.note(j.seat).enter(queued)
	g.lines.push(j, g.grid.now)
}

// againLocked looks anew at a connection that is waiting, because something else than time has changed.
func (g *Group[C]) againLocked(i uint32) {
	_, due := g.nextLocked(i)
	s := g.seats.seat(i)
	if due > g.grid.now {
		g.core.Reset(s.timer, g.lookAtLocked(i, due))
		return
	}
	g.core.Remove(s.timer)
	g.queueLocked(job{seat: i, why: becauseDue})
	g.hireLocked()
}

// nextLocked returns what is due first for a connection, and when.
func (g *Group[C]) nextLocked(i uint32) (Reason, uint64) {
	s := g.sightLocked(i)
	r, due := g.policy.next(&s, g.grid.floor)
	if r == Age && due <= g.grid.now && s.busy {
		if g.seats.seat(i).entry.owe() {
			s.ageless = true
		} else {
			s = g.sightLocked(i) // the request has just ended
		}
		r, due = g.policy.next(&s, g.grid.floor)
	}
	return r, due
}

// owe asks to be told of the end of what makes the connection busy. It returns false if nothing does.
func (e *Entry) owe() bool {
	for {
		use := e.use.Load()
		if use&busyMask == 0 {
			return false
		}
		if e.use.CompareAndSwap(use, use|owed) {
			return true
		}
	}
}

// sightLocked reads all that is known of a connection, and notes what that ends: a wait for a pong, or for the first read.
func (g *Group[C]) sightLocked(i uint32) sight {
	chunk, at := g.seats.at(i)
	e, n := chunk.seats[at].entry, &chunk.notes[at]
	s := sight{read: g.past(&e.read), write: g.past(&e.write), pong: g.past(&e.pong), seed: uint64(i) << 32}
	if chunk.born != nil {
		s.born = g.grid.past(chunk.born[at])
		g.hearLocked(&s, chunk, at)
	}
	if chunk.held != nil {
		for r, step := range chunk.held[at] {
			if step != 0 {
				s.held[r+1] = g.grid.ahead(step)
			}
		}
	}
	use := e.use.Load()
	s.busy = use&busyMask != 0
	if raw := g.seats.raw(i); raw != nil && (g.kernel || use&relayMask != 0) {
		if g.askKernelLocked(&s, raw) && s.unheard {
			s.unheard = false
			n.clear(unheard)
		}
		if from, ok := any(chunk.seats[at].c).(feeder); ok {
			g.askTakerLocked(&s, from)
		}
	} else if s.busy {
		s.read, s.write, s.pong = g.grid.now, g.grid.now, g.grid.now
	}
	s.pinged = g.grid.past(e.pinged)
	if n.is(pinging) {
		if s.answered() {
			n.clear(pinging)
			n.missed = 0
		} else {
			s.waiting, s.missed = true, n.missed
		}
	}
	return s
}

// past reads the step of a touch, and keeps it from growing too old for its 32 bits.
func (g *Group[C]) past(touched *atomic.Uint32) uint64 {
	raw := touched.Load()
	step := g.grid.past(raw)
	if g.grid.now-step > farSteps {
		touched.CompareAndSwap(raw, uint32(g.grid.now-farSteps))
	}
	return step
}

// hearLocked notes the first read. Until then the connection counts as read from when it was tracked.
func (g *Group[C]) hearLocked(s *sight, c *chunk[C], at uint32) {
	if g.grid.now-s.born > farSteps {
		c.born[at] = uint32(g.grid.now - farSteps)
		c.notes[at].clear(unheard)
	}
	if !c.notes[at].is(unheard) {
		return
	}
	if s.unheard = c.seats[at].entry.read.Load() == c.born[at]-1; s.unheard {
		s.read = s.born
	} else {
		c.notes[at].clear(unheard)
	}
}
