package dispatch

import (
	"github.com/foliot/foliot/internal/task"
)

// pick is a task that is to be claimed now. Its slot is taken.
type pick struct {
	lane *lane
	name string
}

func (p pick) key() task.Key { return task.Key{Namespace: p.lane.name.Namespace, Name: p.name} }

// take returns at most limit tasks that are due and may start now, the first
// by rank, and never more of a lane than its share of the slots. Each holds a
// slot until release.
func (a *agenda) take(now task.Millis, limit int) []pick {
	var picks []pick
	for len(picks) < limit {
		l := a.first()
		if l == nil {
			break
		}
		it := l.order.min()
		if max(it.due, l.target.until) > now { // the clock stepped back
			a.place(l, now)
			continue
		}
		a.leave(l)
		a.forget(l, it)
		a.free--
		l.running++
		a.place(l, now)
		if l.behind && a.wantsMore(l, now) {
			a.want(l)
		}
		picks = append(picks, pick{lane: l, name: it.name})
	}
	return picks
}

// first returns the lane that is served next, nil for none.
func (a *agenda) first() *lane {
	var best *lane
	for running := range min(len(a.ready), a.free) {
		if h := &a.ready[running]; h.len() > 0 && (best == nil || h.min().before(best)) {
			best = h.min()
		}
	}
	return best
}

// release gives back the slot of one pick of l.
func (a *agenda) release(l *lane, now task.Millis) {
	a.leave(l)
	l.running--
	a.free++
	a.place(l, now)
}

// slow holds the lanes of l's target back until then.
func (a *agenda) slow(l *lane, now, until task.Millis) {
	if until > l.target.until {
		a.pause(l.target, now, until)
	}
}

func (a *agenda) pause(t *target, now, until task.Millis) {
	t.until = until
	for _, l := range t.lanes {
		a.place(l, now)
	}
}

// look is what a wake-up asks for: whether l has become ready.
func (a *agenda) look(l *lane, now task.Millis) {
	if l.state == waiting {
		l.wake = 0 // whoever wakes us has nothing armed any more
		a.place(l, now)
	}
}

// place puts l where it belongs after any change: idle, waiting, or among
// those that are ready.
func (a *agenda) place(l *lane, now task.Millis) {
	a.leave(l)
	if l.order.len() == 0 {
		l.state = idle
		a.stir(l, 0)
		return
	}
	due := l.order.min().due
	if at := max(due, l.target.until); at > now {
		l.state = waiting
		a.stir(l, at)
		return
	}
	l.state, l.rank = ready, rankOf(due, l.name.Priority)
	a.stir(l, 0)
	for len(a.ready) <= l.running {
		a.ready = append(a.ready, heap[*lane]{})
	}
	a.ready[l.running].push(l)
}

// leave takes l out of those that are ready, before its running changes.
func (a *agenda) leave(l *lane) {
	if l.state == ready {
		a.ready[l.running].remove(l)
		l.state = idle
	}
}

func (a *agenda) stir(l *lane, wake task.Millis) {
	if l.wake == wake {
		return
	}
	l.wake = wake
	if !l.stirred {
		l.stirred = true
		a.stirred = append(a.stirred, l)
	}
}

// alarms returns the lanes whose wake has changed since the last call.
func (a *agenda) alarms() []*lane {
	changed := a.stirred
	a.stirred = nil
	for _, l := range changed {
		l.stirred = false
	}
	return changed
}
