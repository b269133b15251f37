package planner

import "github.com/foliot/foliot/internal/task"

// Schedules stand in the due index in lanes of their own, and in the Planner as well: what
// finds a task finds them. But nobody claims them, they need no slot, and no limit is
// theirs: at its instant a schedule is fired, and what that makes waits in its own lane.

// fireTurn is how many schedules of one namespace are fired in its turn.
const fireTurn = 16

// schedules reports whether what stands in l is schedules.
func (l *lane) schedules() bool { return l.name.Queue == task.ScheduleQueue }

// placeSchedules is place for a lane of schedules.
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

// endedOne takes in that an occurrence has ended for whose end its schedule may wait.
func (pl *Planner) endedOne(e task.Entry) {
	t := pl.namespaceOf(e.Lane.Namespace)
	if len(t.ended) == 0 {
		pl.ended = append(pl.ended, t)
	}
	t.ended = append(t.ended, e.Key())
}

// fires reports whether there is a schedule to be fired.
func (pl *Planner) fires() bool { return len(pl.ended) > 0 || len(pl.firing) > 0 }

// TakeFires returns at most limit schedules that are due or were freed. Namespaces take
// turns: one of many schedules does not hold up another's few by more than a batch.
func (pl *Planner) TakeFires(now task.Millis, limit int) (fires []task.Fire) {
	for len(pl.ended) > 0 && len(fires) < limit/2 {
		t := pl.ended[0]
		pl.ended[0] = nil
		pl.ended = pl.ended[1:]
		n := min(fireTurn, limit/2-len(fires), len(t.ended))
		for _, key := range t.ended[:n] {
			if !t.suspended { // it is due again soon after it is resumed
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
		for n := fireTurn; n > 0 && len(fires) < limit && l.earliest() <= now; n-- { // none is due if the clock stepped back, or all were paused
			fires = append(fires, task.Fire{Key: pl.fired(l)})
		}
		l.firing = false
		pl.place(l, now) // behind the others, where more is due
		if l.behind && pl.needsMore(l, now) {
			pl.requestRead(l, l.next())
		}
	}
	return fires
}

// fired takes the first schedule out of l and returns its key.
func (pl *Planner) fired(l *lane) task.Key {
	it := l.order.min()
	pl.forget(l, it)
	key := task.Key{Namespace: l.name.Namespace, Name: it.name}
	pl.taken[key] = false
	return key
}

// FireAnswered is Answered for a schedule, which may have been freed and not be due: then
// nothing hides it from reads.
func (pl *Planner) FireAnswered(k task.Key) {
	if _, taken := pl.taken[k]; taken {
		pl.Answered(k)
	}
}
