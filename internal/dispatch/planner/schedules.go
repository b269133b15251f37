package planner

import "github.com/foliot/foliot/internal/task"

// Schedules have lanes of their own, in the due index and in the Planner, so
// they are found in the same way as tasks. But they are not claimed, need no
// slot and have no limits. When a schedule is due, it is fired, and the new
// task waits in its own lane.

// firesPerTurn is how many schedules of one namespace are fired in its turn.
const firesPerTurn = 16

// putSchedules gives a lane of schedules its state.
func (pl *Planner) putSchedules(l *lane, state laneState) {
	if l.state = state; state == ready && !l.firing {
		l.firing = true
		pl.firing = append(pl.firing, l)
	}
}

// occurrenceEnded records that an occurrence has ended, because its schedule
// may wait for that.
func (pl *Planner) occurrenceEnded(e task.Entry) {
	n := pl.namespaceOf(e.Lane.Namespace)
	if len(n.ended) == 0 {
		pl.ended = append(pl.ended, n)
	}
	n.ended = append(n.ended, e.Key())
}

// fires reports whether a schedule must be fired.
func (pl *Planner) fires() bool { return len(pl.ended) > 0 || len(pl.firing) > 0 }

// TakeFires returns at most limit schedules that are due, or that waited for an
// occurrence that has ended. Namespaces take turns: a namespace with many
// schedules delays the schedules of another namespace by at most one batch.
func (pl *Planner) TakeFires(now task.Millis, limit int) (fires []task.Fire) {
	pl.refresh(now)
	for len(pl.ended) > 0 && len(fires) < limit/2 {
		n := pop(&pl.ended)
		some := n.ended[:min(firesPerTurn, limit/2-len(fires), len(n.ended))]
		for _, key := range some {
			if !n.suspended { // when the suspension ends, the schedule is soon due again
				fires = append(fires, task.Fire{Key: key})
			}
		}
		if n.ended = n.ended[len(some):]; len(n.ended) > 0 {
			pl.ended = append(pl.ended, n)
		}
	}
	for len(pl.firing) > 0 && len(fires) < limit {
		l := pop(&pl.firing)
		// No schedule is due if the clock stepped back, or if all were paused.
		for k := firesPerTurn; k > 0 && len(fires) < limit && l.earliest() <= now; k-- {
			fires = append(fires, task.Fire{Key: task.Key{Namespace: l.name.Namespace, Name: pl.window.takeFirst(l).name}})
		}
		l.firing = false
		pl.mark(l, true)
		pl.refresh(now) // adds the lane again at the end if more of its schedules are due
	}
	return fires
}
