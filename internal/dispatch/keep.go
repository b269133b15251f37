package dispatch

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// open returns a new lane, nil if nothing is to be known of it: its queue is held.
func (a *agenda) open(name task.Lane, now task.Millis) *lane {
	q := a.queueOf(queueKey{name.Namespace, name.Queue}, now)
	if q.holds(name.Priority) {
		return nil
	}
	l := &lane{name: name, number: a.next(), queue: q, known: map[string]*item{}, allowance: a.slots.base()}
	l.seat.owner, l.bell.owner = l, l
	l.target = a.targetOf(targetKey{name.Namespace, name.Destination})
	l.outlet = q.outlets[name.Destination]
	if l.outlet == nil {
		l.outlet = &outlet{}
		q.outlets[name.Destination] = l.outlet
	}
	if len(l.outlet.lanes) == 0 {
		a.stakeOutlet(q, name.Destination, l.outlet)
	}
	l.outlet.lanes = append(l.outlet.lanes, l)
	l.inQueue, q.lanes = len(q.lanes), append(q.lanes, l)
	l.inTarget, l.target.lanes = len(l.target.lanes), append(l.target.lanes, l)
	a.lanes[name] = l
	return l
}

func (a *agenda) next() uint64 {
	a.number++
	return a.number
}

func (a *agenda) queueOf(key queueKey, now task.Millis) *queue {
	if q := a.queues[key]; q != nil {
		return q
	}
	t := a.spaces[key.namespace]
	if t == nil {
		t = &tenant{name: key.namespace, suspended: a.settings.Suspended(key.namespace), turns: turns{number: a.next()}}
		t.seat.owner = t
		a.spaces[key.namespace] = t
	}
	t.count++
	q := &queue{key: key, tenant: t, settings: a.settings.Queue(key.namespace, key.name), outlets: map[string]*outlet{}, turns: turns{number: a.next()}}
	q.seat.owner, q.pass.owner, q.bell.owner = q, q, q
	q.bucket.configure(q.settings, a.steady)
	a.stakeOut(q)
	a.queues[key] = q
	a.refresh(q, now)
	return q
}

func (a *agenda) targetOf(key targetKey) *target {
	t := a.targets[key]
	if t == nil {
		t = &target{key: key, number: a.next(), class: unknown}
		t.bell.owner = t
		a.targets[key] = t
	}
	return t
}

// drop forgets a lane that is idle.
func (a *agenda) drop(l *lane) {
	delete(a.lanes, l.name)
	q, t, o := l.queue, l.target, l.outlet
	last := q.lanes[len(q.lanes)-1]
	q.lanes[l.inQueue], last.inQueue = last, l.inQueue
	q.lanes[len(q.lanes)-1], q.lanes = nil, q.lanes[:len(q.lanes)-1]
	last = t.lanes[len(t.lanes)-1]
	t.lanes[l.inTarget], last.inTarget = last, l.inTarget
	t.lanes[len(t.lanes)-1], t.lanes = nil, t.lanes[:len(t.lanes)-1]
	i := slices.Index(o.lanes, l)
	o.lanes = slices.Delete(o.lanes, i, i+1)
	if len(o.lanes) == 0 {
		a.unstake(o.stake)
		delete(q.outlets, l.name.Destination)
	}
}

// withdraw makes the window end where it ends now that the clock has stepped
// back: hints beyond that were ignored.
func (a *agenda) withdraw(l *lane, now task.Millis) {
	end := task.Position{Due: now.Add(a.window) + 1}
	if end.Less(l.cursor) {
		l.cursor = end
	}
	a.total -= l.trim(end)
	l.served = min(l.served, now)
	a.place(l, now)
}

const (
	// rememberLane is how long an empty lane is kept that has proved itself, so
	// that its next task does not begin from nothing.
	rememberLane = time.Minute
	// rememberTarget is how long it is kept what is known of a receiver, and
	// rememberTargets of how many that have no tasks.
	rememberTarget  = 10 * time.Minute
	rememberTargets = 10_000
)

// remember reports whether an empty lane is to be kept.
func (a *agenda) remember(l *lane, now task.Millis) bool {
	if l.emptied == 0 {
		l.emptied = now
	}
	if s := l.outlet.stake; s != nil && !s.spent() {
		return true // who gives it back must not be forgotten
	}
	return l.allowance > a.slots.base() && max(now-l.emptied, l.emptied-now) < task.Millis(rememberLane.Milliseconds())
}

// check looks at everything that a wake-up was to bring, whatever became of it:
// the wall clock may have stepped. It also lets go of what is empty. It must
// not be called while reads are under way.
func (a *agenda) check(now task.Millis) {
	back := a.checked > now
	a.checked = now
	for _, l := range a.lanes {
		if back {
			a.withdraw(l, now)
		}
		switch {
		case l.state == waiting && l.bell.wall <= now:
			a.ring(&l.bell, now)
		case l.state == idle && l.running == 0 && !l.hungry && !l.firing && !a.remember(l, now):
			a.drop(l)
		}
	}
	a.checkQueues(now)
	a.checkTargets(now)
}

func (a *agenda) checkQueues(now task.Millis) {
	for key, q := range a.queues {
		if q.bell.set() || q.held != q.settings.Held(now) || q.stopped != q.tenant.suspended { // for others time changes nothing
			a.refresh(q, now)
		}
		if len(q.lanes) > 0 || q.held || q.stopped || q.bucket.debt(a.steady) > 0 || q.stake != nil && !q.stake.spent() {
			continue
		}
		a.arm(&q.bell, 0, 0)
		a.unstake(q.stake)
		delete(a.queues, key)
		if q.tenant.count--; q.tenant.count == 0 {
			delete(a.spaces, key.namespace)
		}
	}
}

func (a *agenda) checkTargets(now task.Millis) {
	kept := 0
	for key, t := range a.targets {
		if t.bell.set() && t.bell.steady <= a.steady {
			a.ring(&t.bell, now)
		}
		if len(t.lanes) > 0 || t.closedUntil() > a.steady {
			continue
		}
		if kept++; t.heard == 0 || a.steady-t.heard > rememberTarget || kept > rememberTargets {
			a.broken -= t.broken()
			a.arm(&t.bell, 0, 0)
			delete(a.targets, key)
		}
	}
}
