package contender

import (
	"github.com/foliot/foliot/idle"
	"github.com/foliot/foliot/wheel"
)

func openWheel(c conns) Timeouts {
	w := wheel.New(wheel.Config{}, c.end)
	return &handles[wheel.ID]{
		kept: make([]wheel.ID, len(c)),
		add:  func(i uint32) wheel.ID { return w.Add(timeout, i) },
		beat: func(id wheel.ID, i uint32) wheel.ID {
			w.Remove(id)
			return w.Add(timeout, i)
		},
		close: w.Close,
	}
}

func openExtend(c conns) Timeouts {
	w := wheel.New(wheel.Config{}, c.end)
	return &handles[wheel.ID]{
		kept: make([]wheel.ID, len(c)),
		add:  func(i uint32) wheel.ID { return w.Add(timeout, i) },
		beat: func(id wheel.ID, _ uint32) wheel.ID {
			w.Extend(id, timeout)
			return id
		},
		close: w.Close,
	}
}

// keyed needs no handles: a key is the number of its connection.
type keyed struct {
	*wheel.Keyed[uint32, struct{}]
}

func openKeyed(c conns) Timeouts {
	return keyed{wheel.NewKeyed(wheel.Config{}, func(i uint32, _ struct{}) { c.end(i) })}
}

func (k keyed) Open(i uint32)      { _, _ = k.Set(i, timeout, struct{}{}) } // it is neither full nor closed
func (k keyed) Heartbeat(i uint32) { k.Open(i) }

// touched has an entry in each connection.
type touched struct {
	*idle.Group[uint32]
	entries []idle.Entry
}

func openIdle(c conns) Timeouts {
	config := idle.Config{ReadIdle: timeout, Resolution: timeout / 64} // the default resolution of a minute, divided by speed
	return touched{
		idle.New(config, func(i uint32, _ idle.Reason) idle.Verdict {
			c.end(i)
			return idle.Close
		}),
		make([]idle.Entry, len(c)),
	}
}

func (t touched) Open(i uint32)      { _ = t.Track(i, &t.entries[i]) } // the group is open, and the entry is new
func (t touched) Heartbeat(i uint32) { t.entries[i].TouchRead() }
