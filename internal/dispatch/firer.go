package dispatch

import (
	"context"
	"errors"
	"log/slog"

	"github.com/foliot/foliot/internal/task"
)

// Schedules stand in the due index in lanes of their own, and in the agenda as well: what
// finds a task finds them. But nobody claims them, they need no slot, and no limit is
// theirs: at its instant a schedule is fired, and what that makes waits in its own lane.

const (
	// fireBatch is how many schedules one Fire fires: while it is under way, what
	// becomes due gathers for the next.
	fireBatch = 256
	// countMost is how many instants that were passed over are counted, at most.
	countMost = 10_000
)

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
		if l.state != ready {
			a.firing = append(a.firing, l)
		}
		l.state = ready
	}
	a.arm(&l.bell, wake, 0)
}

// endedOne takes in that an occurrence has ended for whose end its schedule may wait.
func (a *agenda) endedOne(e task.Entry) { a.ended = append(a.ended, e.Key()) }

// fires reports whether there is a schedule to be fired.
func (a *agenda) fires() bool { return len(a.ended) > 0 || len(a.firing) > 0 }

// takeFires returns at most limit schedules that are due or were freed.
func (a *agenda) takeFires(now task.Millis, limit int) []task.Fire {
	n := min(limit, len(a.ended))
	fires := make([]task.Fire, 0, n)
	for _, key := range a.ended[:n] {
		fires = append(fires, task.Fire{Key: key})
	}
	a.ended = append(a.ended[:0:0], a.ended[n:]...)
	for len(a.firing) > 0 && len(fires) < limit {
		l := a.firing[0]
		for len(fires) < limit && l.order.len() > 0 && l.earliest() <= now {
			it := l.order.min()
			a.forget(l, it)
			key := task.Key{Namespace: l.name.Namespace, Name: it.name}
			a.taken[key] = false
			fires = append(fires, task.Fire{Key: key})
		}
		if l.earliest() > now { // all that were due, or the clock stepped back
			a.firing = a.firing[1:]
			l.state = idle
			a.placeSchedules(l, now)
		}
		if l.behind && a.wantsMore(l, now) {
			a.want(l)
		}
	}
	return fires
}

// firer fires schedules. It ends when stopping does; a call that is then under
// way is seen through.
func (d *Dispatcher) firer(stopping, calls context.Context) {
	for {
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
			d.fire(stopping, calls, fires)
		}
	}
}

// fire fires a batch. A call that failed may have been carried out: whoever was fired
// by it is not due any more when it is repeated. What was refused is due as before, and
// found by the poll.
func (d *Dispatcher) fire(stopping, calls context.Context, fires []task.Fire) {
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
	d.update(func(now task.Millis) {
		for _, f := range fires {
			d.agenda.answered(f.Key)
		}
		for _, r := range replies {
			if r.Err == nil {
				d.agenda.offer(now, r.Task.Entry())
				d.count.fired(r)
			}
		}
	})
	for i, r := range replies {
		d.tellFired(calls, fires[i], r)
	}
}

// tellFired logs what a schedule passed over, and why one could not be fired.
func (d *Dispatcher) tellFired(ctx context.Context, f task.Fire, r task.Reply) {
	switch {
	case errors.Is(r.Err, task.ErrNotDue), errors.Is(r.Err, task.ErrNotFound), errors.Is(r.Err, task.ErrLaneChanged): // moved, paused, removed, or another's
		return
	case r.Err != nil:
		d.complain(ctx, "fire a schedule", r.Err)
		return
	case r.Task.Recur.Problem != "":
		d.logs.add("follow a schedule", errors.New(r.Task.Recur.Problem), "schedule", r.Task.ScheduleName(), "namespace", f.Key.Namespace)
	}
	for _, s := range r.Skipped {
		d.passes.log(ctx, r.Task, s)
	}
}

// fired counts what a Fire has made and passed over.
func (c *counters) fired(r task.Reply) {
	if r.Spawned != nil {
		c.Fired++
	}
	for _, s := range r.Skipped {
		n := uint64(r.Task.Recur.Count(s.Span, countMost))
		switch s.Why {
		case task.SkippedMisfire:
			c.Skipped.Misfire += n
		case task.SkippedWindow:
			c.Skipped.Window += n
		case task.SkippedLimit:
			c.Skipped.Limit += n
		case task.SkippedOverlap:
			c.Skipped.Overlap += n
		}
	}
}

// Skipped counts instants of schedules that made no occurrence, by reason; of one
// stretch at most 10,000.
type Skipped struct{ Misfire, Window, Limit, Overlap uint64 }

// passes logs which instants schedules passed over: of many schedules at once the
// first, and how many more there were.
type passes struct {
	complaints
}

// passed is what the log calls it.
const passed = "a schedule passed over instants"

func (p *passes) log(ctx context.Context, t *task.Task, s task.Skip) {
	n := t.Recur.Count(s.Span, countMost)
	silent, ok := p.turn(passed, passesLogged)
	if !ok {
		return
	}
	p.logger.LogAttrs(ctx, slog.LevelWarn, passed,
		slog.String("schedule", t.ScheduleName()), slog.String("namespace", t.Namespace), slog.String("why", s.Why),
		slog.Time("from", s.From.Time()), slog.Time("until", s.Until.Time()), slog.Int("instants", n), slog.Int("not_logged_before", silent))
}

// passesLogged is how many lines of a kind are logged in complaintEvery.
const passesLogged = 50
