package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// bell wakes its owner at a moment: of the wall clock, where something is due,
// or of the clock that never steps, where a wait ends.
type bell struct {
	owner  listener
	wall   task.Millis   // 0: not by this clock
	steady time.Duration // 0: not by this clock

	stirred bool   // the moment has changed; stands in agenda.stirred
	timer   uint64 // the dispatcher's: the number of the one that is armed for the moment
}

// listener is a lane, a queue or a target.
type listener interface {
	// look finds out whether what the bell was set for has come. One that rang
	// too early, or too late, does no harm.
	look(a *agenda, now task.Millis)
}

func (b *bell) set() bool { return b.wall != 0 || b.steady != 0 }

// arm sets a bell; both moments 0: it does not ring.
func (a *agenda) arm(b *bell, wall task.Millis, steady time.Duration) {
	if b.wall == wall && b.steady == steady {
		return
	}
	b.wall, b.steady = wall, steady
	if !b.stirred {
		b.stirred = true
		a.stirred = append(a.stirred, b)
	}
}

// ring is called when a bell's moment has come.
func (a *agenda) ring(b *bell, now task.Millis) {
	if b.set() {
		b.wall, b.steady = 0, 0 // whoever calls has nothing armed any more
		b.owner.look(a, now)
	}
}

// alarms returns the bells whose moment has changed since the last call.
func (a *agenda) alarms() []*bell {
	changed := a.stirred
	a.stirred = nil
	for _, b := range changed {
		b.stirred = false
	}
	return changed
}
