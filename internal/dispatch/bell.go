package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// bell wakes its owner at a moment: of the wall clock, where something is due,
// or of the clock that never steps, where a wait ends.
type Wakeup struct {
	owner  listener
	Wall   task.Millis   // 0: not by this clock
	Monotonic time.Duration // 0: not by this clock

	dirty bool   // the moment has changed; stands in agenda.stirred
	Timer   uint64 // the dispatcher's: the number of the one that is armed for the moment
}

// listener is a lane, a queue or a target.
type listener interface {
	// look finds out whether what the bell was set for has come. One that rang
	// too early, or too late, does no harm.
	look(a *Planner, now task.Millis)
}

func (b *Wakeup) IsSet() bool { return b.Wall != 0 || b.Monotonic != 0 }

// arm sets a bell; both moments 0: it does not ring.
func (a *Planner) arm(b *Wakeup, wall task.Millis, steady time.Duration) {
	if b.Wall == wall && b.Monotonic == steady {
		return
	}
	b.Wall, b.Monotonic = wall, steady
	if !b.dirty {
		b.dirty = true
		a.dirty = append(a.dirty, b)
	}
}

// ring is called when a bell's moment has come.
func (a *Planner) Wake(b *Wakeup, now task.Millis) {
	if b.IsSet() {
		b.Wall, b.Monotonic = 0, 0 // whoever calls has nothing armed any more
		b.owner.look(a, now)
	}
}

// alarms returns the bells whose moment has changed since the last call.
func (a *Planner) Wakeups() []*Wakeup {
	changed := a.dirty
	a.dirty = nil
	for _, b := range changed {
		b.dirty = false
	}
	return changed
}
