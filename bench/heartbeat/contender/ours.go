package contender

import (
	"time"

	"github.com/foliot/foliot/idle"
	"github.com/foliot/foliot/wheel"
)

func openWheel(s *server) Timeouts {
	w := wheel.New(wheel.Config{Tick: s.second()}, s.end)
	return &handles[wheel.ID]{
		kept: make([]wheel.ID, len(s.conns)),
		add:  func(i uint32) wheel.ID { return add(w, s.timeout, i) },
		beat: func(id wheel.ID, i uint32) wheel.ID {
			w.Remove(id)
			return add(w, s.timeout, i)
		},
		close: w.Close,
	}
}

func add(w *wheel.Wheel[uint32], timeout time.Duration, i uint32) wheel.ID {
	id, _ := w.Add(timeout, i) // it is neither full nor closed
	return id
}

func openExtend(s *server) Timeouts { return extend(s, s.second()) }

func openExtend1ms(s *server) Timeouts { return extend(s, time.Millisecond) }

func extend(s *server, tick time.Duration) Timeouts {
	w := wheel.New(wheel.Config{Tick: tick}, s.end)
	return &handles[wheel.ID]{
		kept: make([]wheel.ID, len(s.conns)),
		add:  func(i uint32) wheel.ID { return add(w, s.timeout, i) },
		beat: func(id wheel.ID, _ uint32) wheel.ID {
			w.Extend(id, s.timeout)
			return id
		},
		close: w.Close,
	}
}

// keyed needs no handles: a key is the number of its connection.
type keyed struct {
	*wheel.Keyed[uint32, struct{}]
	timeout time.Duration
}

func openKeyed(s *server) Timeouts {
	return keyed{wheel.NewKeyed(wheel.Config{Tick: s.second()}, func(i uint32, _ struct{}) { s.end(i) }), s.timeout}
}

func (k keyed) Open(i uint32)      { _, _ = k.Set(i, k.timeout, struct{}{}) } // it is neither full nor closed
func (k keyed) Heartbeat(i uint32) { k.Open(i) }

// touched has an entry in each connection.
type touched struct {
	*idle.Group[uint32]
	entries []idle.Entry
}

func openIdle(s *server) Timeouts {
	return touched{
		idle.New(idle.Config{ReadIdle: s.timeout, Resolution: s.second()}, func(i uint32, _ idle.Reason) idle.Verdict {
			s.end(i)
			return idle.Close()
		}),
		make([]idle.Entry, len(s.conns)),
	}
}

func (t touched) Open(i uint32)      { _ = t.Track(i, &t.entries[i]) } // the group is open, and the entry is new
func (t touched) Heartbeat(i uint32) { t.entries[i].TouchRead() }
