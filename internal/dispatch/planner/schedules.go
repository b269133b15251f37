package planner

import "github.com/foliot/foliot/internal/task"

// Schedules have lanes of their own, in the due index and in the Planner, so
// they are found in the same way as tasks. But they are not claimed, need no
// slot and have no limits. At its instant a schedule is fired, and the task
// that it creates waits in the lane of the task.

// firesPerTurn is how many schedules of one namespace are fired in its turn.
const firesPerTurn = 16

// schedules reports whether l is a lane of schedules.
func (l *lane) schedules() bool { return l.name.Queue == task.ScheduleQueue }

// placeSchedules does the work of place for a lane of schedules.
func (pl *Planner) placeSchedules(l *lane, now task.Millis) {
	wake := task.Millis(0)
	l.emptied = 0
	switch {
	case l.order.len() == 0:
		l.state = idle
	case l.earliest() > now:
		l.state, wake = waiting, l.earliest()
	default:
		l.state = ready
		if !l.firing {
			l.firing = true
			pl.firing = append(pl.firing, l)
		}
	}
	pl.arm(&l.wakeup, wake, 0)
}

// endedOne records that an occurrence has ended. Its schedule may wait for
// that.
func (pl *Planner) endedOne(e task.Entry) {
	t := pl.namespaceOf(e.Lane.Namespace)
	if len(t.ended) == 0 {
		pl.ended = append(pl.ended, t)
	}
	t.ended = append(t.ended, e.Key())
}

// fires reports whether a schedule must be fired.
func (pl *Planner) fires() bool { return len(pl.ended) > 0 || len(pl.firing) > 0 }

// TakeFires returns at most limit schedules that are due, or that waited for an
// occurrence that has ended. Namespaces take turns: a namespace with many
// schedules delays the schedules of another namespace by at most one batch.
func (pl *Planner) TakeFires(now task.Millis, limit int) (fires []task.Fire) {
	for len(pl.ended) > 0 && len(fires) < limit/2 {
		t := pl.ended[0]
		pl.ended[0] = nil
		pl.ended = pl.ended[1:]
		n := min(firesPerTurn, limit/2-len(fires), len(t.ended))
		for _, key := range t.ended[:n] {
			if !t.suspended { // after the suspension it is due again soon
				fires = append(fires, task.Fire{Key: key})
			}
		}
		if t.ended = t.ended[n:]; len(t.ended) > 0 {
			pl.ended = append(pl.ended, t)
		}
	}
	for len(pl.firing) > 0 && len(fires) < limit {
		l := pl.firing[0]
		pl.firing[0] = nil
		pl.firing = pl.firing[1:]
		// No schedule is due if the clock stepped back, or if all were paused.
		for n := firesPerTurn; n > 0 && len(fires) < limit && l.earliest() <= now; n-- {
			fires = append(fires, task.Fire{Key: pl.fired(l)})
		}
		l.firing = false
		pl.place(l, now) // behind the other lanes if more of its schedules are due
		if l.behind && pl.needsMore(l, now) {
			pl.requestRead(l, l.next())
		}
	}
	return fires
}

// fired removes the first schedule of l and returns its key.
func (pl *Planner) fired(l *lane) task.Key {
	it := l.order.min()
	pl.forget(l, it)
	key := task.Key{Namespace: l.name.Namespace, Name: it.name}
	pl.taken[key] = false
	return key
}

// FireAnswered does the work of Answered for a schedule. If the schedule was
// fired because an occurrence ended, and it was not due, it is not hidden from
// reads. In that case there is nothing to record.
func (pl *Planner) FireAnswered(k task.Key) {
	if _, taken := pl.taken[k]; taken {
		pl.Answered(k)
	}
}
