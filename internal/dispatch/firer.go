package dispatch

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/task"
)

// Schedules stand in the due index in lanes of their own, and in the agenda as well: what
// finds a task finds them. But nobody claims them, they need no slot, and no limit is
// theirs: at its instant a schedule is fired, and what that makes waits in its own lane.

// fireBatch is how many schedules one Fire fires: while it is under way, what
// becomes due gathers for the next.
const fireBatch = 128

// fireTurn is how many schedules of one namespace are fired in its turn.
const fireTurn = 16

// schedules reports whether what stands in l is schedules.
func (l *lane) schedules() bool { return l.name.Queue == task.ScheduleQueue }

// placeSchedules is place for a lane of schedules.
func (a *agenda) placeSchedules(l *lane, now task.Millis) {
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
			a.firing = append(a.firing, l)
		}
	}
	a.arm(&l.bell, wake, 0)
}

// endedOne takes in that an occurrence has ended for whose end its schedule may wait.
func (a *agenda) endedOne(e task.Entry) {
	t := a.tenantOf(e.Lane.Namespace)
	if len(t.ended) == 0 {
		a.ended = append(a.ended, t)
	}
	t.ended = append(t.ended, e.Key())
}

// fires reports whether there is a schedule to be fired.
func (a *agenda) fires() bool { return len(a.ended) > 0 || len(a.firing) > 0 }

// takeFires returns at most limit schedules that are due or were freed. Namespaces take
// turns: one of many schedules does not hold up another's few by more than a batch.
func (a *agenda) takeFires(now task.Millis, limit int) (fires []task.Fire) {
	for len(a.ended) > 0 && len(fires) < limit/2 {
		t := a.ended[0]
		a.ended[0] = nil
		a.ended = a.ended[1:]
		n := min(fireTurn, limit/2-len(fires), len(t.ended))
		for _, key := range t.ended[:n] {
			if !t.suspended { // it is due again soon after it is resumed
				fires = append(fires, task.Fire{Key: key})
			}
		}
		if t.ended = t.ended[n:]; len(t.ended) > 0 {
			a.ended = append(a.ended, t)
		}
	}
	for len(a.firing) > 0 && len(fires) < limit {
		l := a.firing[0]
		a.firing[0] = nil
		a.firing = a.firing[1:]
		for n := fireTurn; n > 0 && len(fires) < limit && l.earliest() <= now; n-- { // none is due if the clock stepped back, or all were paused
			fires = append(fires, task.Fire{Key: a.fired(l)})
		}
		l.firing = false
		a.place(l, now) // behind the others, where more is due
		if l.behind && a.wantsMore(l, now) {
			a.want(l, l.next())
		}
	}
	return fires
}

// fired takes the first schedule out of l and returns its key.
func (a *agenda) fired(l *lane) task.Key {
	it := l.order.min()
	a.forget(l, it)
	key := task.Key{Namespace: l.name.Namespace, Name: it.name}
	a.taken[key] = false
	return key
}

// firer fires schedules. It ends when stopping does; a call that is then under
// way is seen through.
func (d *Dispatcher) firer(stopping, calls context.Context) {
	for wait := firstWait; ; {
		select {
		case <-d.fires:
		case <-stopping.Done():
			return
		}
		for stopping.Err() == nil {
			var fires []task.Fire
			d.update(func(now task.Millis) { fires = d.agenda.takeFires(now, fireBatch) })
			if len(fires) == 0 {
				break
			}
			if d.fire(stopping, calls, fires) {
				wait = firstWait
			} else if pause(stopping, wait) { // the poll finds all of them due again
				wait = nextWait(wait)
			}
		}
	}
}

// fire fires a batch, and reports false where the store had room, or ears, for none of
// it. A call that failed may have been carried out: whoever was fired by it is not due any
// more when it is repeated. What was refused is due as before, and found by the poll.
func (d *Dispatcher) fire(stopping, calls context.Context, fires []task.Fire) (some bool) {
	var replies []task.Reply
	for wait := firstWait; ; wait = nextWait(wait) {
		var err error
		if replies, err = d.queue.Fire(calls, d.now(), fires); err == nil {
			break
		}
		if d.complain(calls, "fire schedules", err) || !pause(stopping, wait) {
			break
		}
	}
	skipped := skippedBy(replies)
	d.update(func(now task.Millis) {
		for _, f := range fires {
			d.agenda.fireAnswered(f.Key)
		}
		for _, r := range replies {
			if some = some || !refusedForNow(r.Err); r.Err == nil {
				d.agenda.offer(now, r.Task.Entry()) // its occurrence was told by a hint, and may have begun
				d.count.fired(r)
			}
		}
		d.count.skipped(skipped)
	})
	for i, r := range replies {
		d.tellFired(calls, fires[i], r)
	}
	for _, s := range skipped {
		d.skips.log(calls, s)
	}
	return some
}

// refusedForNow reports whether err has nothing to do with what was asked for.
func refusedForNow(err error) bool {
	return errors.Is(err, task.ErrFull) || errors.Is(err, task.ErrUnavailable)
}

// fireAnswered is answered for a schedule, which may have been freed and not be due: then
// nothing hides it from reads.
func (a *agenda) fireAnswered(k task.Key) {
	if _, taken := a.taken[k]; taken {
		a.answered(k)
	}
}

// tellFired logs why a schedule could not be fired.
func (d *Dispatcher) tellFired(ctx context.Context, f task.Fire, r task.Reply) {
	switch {
	case errors.Is(r.Err, task.ErrNotDue), errors.Is(r.Err, task.ErrNotFound), errors.Is(r.Err, task.ErrLaneChanged): // moved, paused, removed, or another's
	case r.Err != nil:
		d.complain(ctx, "fire a schedule", r.Err)
	case r.Task.Recur.Problem != "":
		d.logs.add("follow a schedule", errors.New(r.Task.Recur.Problem), "schedule", r.Task.ScheduleName(), "namespace", f.Key.Namespace)
	}
}
