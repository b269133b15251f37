package idle

import "sync/atomic"

// snapshot is the state of a connection at one time. Steps are full numbers,
// and zero in born and pinged means unknown.
type snapshot struct {
	read, write, pong uint64           // steps of the last touches
	pinged            uint64           // step of the last ping; before the first, the step of Track
	born              uint64           // the step of Track
	awaitingRead      bool             // nothing was ever read, and Handshake is set
	waiting           bool             // for the pong of the last ping
	missed            uint8            // consecutive missed pings before the last
	busy              bool             // a request is under way
	ignoreAge         bool             // Age waits for the end of the request
	kept              uint8            // as in note
	held              *[Evicted]uint32 // as in chunk, low 32 bits only; nil: none
	seed              uint64           // for its own jitter
}

// used returns the step of the last use.
func (s *snapshot) used() uint64 { return max(s.read, s.write) }

// answered reports whether the peer has shown life since the last ping. A touch
// in the step of the ping came after it: the last check before the ping saw
// none.
func (s *snapshot) answered() bool { return max(s.read, s.pong) >= s.pinged }

// verdict returns the step in which the callback returned Keep for a reason, or
// the step until which it returned KeepFor, or zero for neither.
func (s *snapshot) verdict(r Reason, g *grid) (kept, until uint64) {
	step := s.step(r, g)
	if s.kept>>(r-1)&1 != 0 {
		return step, 0
	}
	return 0, step
}

// step returns the step that is held for a reason, or zero if there is none.
func (s *snapshot) step(r Reason, g *grid) uint64 {
	if s.held == nil || s.held[r-1] == 0 {
		return 0
	}
	return g.ahead(s.held[r-1])
}

// snapshotLocked reads the state of a connection, and changes nothing.
func (g *Group[C]) snapshotLocked(i uint32) snapshot {
	chunk, at := g.slots.at(i)
	e, n := chunk.slots[at].entry, &chunk.notes[at]
	s := snapshot{
		read: g.grid.past(e.read.Load()), write: g.grid.past(e.write.Load()), pong: g.grid.past(e.pong.Load()),
		pinged: g.grid.past(e.pinged), seed: uint64(i) << 32, kept: n.kept,
	}
	if chunk.born != nil {
		s.born = g.grid.past(chunk.born[at])
		if s.awaitingRead = n.is(awaitingRead) && e.read.Load() == neverRead(chunk.born[at]); s.awaitingRead {
			s.read = s.born // until the first read, Track counts as a read
		}
	}
	if chunk.held != nil {
		s.held = &chunk.held[at]
	}
	s.busy = e.use.isBusy()
	if raw := g.slots.raw(i); raw != nil && (g.kernel || e.use.isRunning()) {
		if g.askKernelLocked(&s, raw) {
			s.awaitingRead = false
		}
		if from, ok := any(chunk.slots[at].c).(forwarder); ok {
			g.askSinkLocked(&s, from)
		}
	} else if s.busy {
		s.read, s.write, s.pong = g.grid.now, g.grid.now, g.grid.now
	}
	if n.is(pinging) && !s.answered() {
		s.waiting, s.missed = true, n.missed
	}
	return s
}

// neverRead is the value of Entry.read before the first read, if Handshake is
// set. It differs from born, since a touch in the step of Track counts.
func neverRead(born uint32) uint32 { return born - 1 }

// updateNotesLocked clears notes that a snapshot shows to be over, and keeps
// steps from growing too old for 32 bits.
func (g *Group[C]) updateNotesLocked(i uint32, s *snapshot) {
	chunk, at := g.slots.at(i)
	e, n := chunk.slots[at].entry, &chunk.notes[at]
	if n.is(pinging) && !s.waiting {
		n.answered()
	}
	if n.is(awaitingRead) && !s.awaitingRead {
		n.clear(awaitingRead)
	}
	oldest := g.grid.now - min(farSteps, g.grid.now)
	for _, touched := range [...]*atomic.Uint32{&e.read, &e.write, &e.pong} {
		step := touched.Load()
		if g.grid.past(step) < oldest {
			touched.CompareAndSwap(step, uint32(oldest))
		} else if int32(step-uint32(g.grid.now)) > 0 { // a touch for another group
			touched.CompareAndSwap(step, uint32(g.grid.now))
		}
	}
	if chunk.held != nil {
		for r, step := range chunk.held[at] {
			if step != 0 && g.grid.ahead(step) < oldest {
				chunk.held[at][r] = max(uint32(oldest), 1)
			}
		}
	}
	if g.grid.past(e.pinged) < oldest {
		e.pinged = uint32(oldest)
	}
	if chunk.born != nil && s.born < oldest {
		chunk.born[at] = uint32(oldest)
		n.clear(awaitingRead)
	}
}
