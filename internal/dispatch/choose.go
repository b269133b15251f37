package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// pick is a task that is to be claimed now. Its slot is taken.
type pick struct {
	lane *lane
	name string
}

func (p pick) key() task.Key { return task.Key{Namespace: p.lane.name.Namespace, Name: p.name} }

// handicap is what a priority is worth, in time. See rankOf.
const handicap = 10 * time.Second

// rankOf returns the rank of a lane that is ready: the smallest is served next.
//
// It is the due time of its first task, so that the earliest due comes first.
// But a lane that has just been served waits as if that task were due only now:
// where there is more than can be served, lanes take turns, and a task that is
// due now waits for one round of those with a backlog, not for the backlogs.
//
// A lower priority counts as a handicap later. So among tasks that are due it
// decides who is first, and even while a higher priority takes all there is, a
// lane that waits gets its turn once in each handicap.
func rankOf(l *lane) task.Millis {
	return max(l.earliest(), l.served).Add(time.Duration(l.name.Priority) * handicap)
}

// take returns at most limit tasks that are due and may start now, the first
// by rank. Each holds a slot until release.
func (a *agenda) take(now task.Millis, limit int) []pick {
	var picks []pick
	for len(picks) < limit {
		l := a.slots.first()
		if l == nil {
			break
		}
		it := l.order.min()
		if max(it.due, l.target.until) > now { // the clock stepped back
			a.place(l, now)
			continue
		}
		a.forget(l, it)
		a.taken[pick{l, it.name}.key()] = false
		a.slots.free--
		l.running++
		a.turn++
		l.served, l.turn = now, a.turn
		a.place(l, now)
		if l.behind && a.wantsMore(l, now) {
			a.want(l)
		}
		picks = append(picks, pick{lane: l, name: it.name})
	}
	return picks
}

// answered notes that the claim of what was picked has been answered. Until
// then, and for the reads that were under way at that moment, the store may
// show it as it was before.
func (a *agenda) answered(k task.Key) { a.taken[k] = true }

// release gives back the slot of one pick of l.
func (a *agenda) release(l *lane, now task.Millis, e evidence) {
	a.slots.heed(l, e)
	l.running--
	a.slots.free++
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

// place puts l where it belongs after any change.
func (a *agenda) place(l *lane, now task.Millis) {
	if l.state == ready {
		l.among.remove(l)
		l.among = nil
	}
	wake := task.Millis(0)
	l.emptied = 0
	switch {
	case l.order.len() == 0:
		l.state = idle
	case max(l.earliest(), l.target.until) > now:
		l.state, wake = waiting, max(l.earliest(), l.target.until)
	case l.running >= a.slots.most():
		l.state = full
	default:
		l.state, l.rank = ready, rankOf(l)
		a.slots.enter(l)
	}
	a.stir(l, wake)
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
