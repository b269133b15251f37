package planner

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// open returns a new lane. It returns nil if the lane's queue is held: tasks of
// such a lane must not be kept.
func (pl *Planner) open(name task.Lane, now task.Millis) *lane {
	q := pl.queueOf(queueKey{name.Namespace, name.Queue}, now)
	if q.holds(name.Priority) {
		return nil
	}
	l := &lane{name: name, number: pl.next(), queue: q, known: map[string]*item{}, allowance: pl.slots.base()}
	l.node.owner, l.wakeup.owner = l, l
	l.destination = pl.destinationOf(destinationKey{name.Namespace, name.Destination})
	l.queueDestination = q.destinations[name.Destination]
	if l.queueDestination == nil {
		l.queueDestination = &queueDestination{}
		q.destinations[name.Destination] = l.queueDestination
	}
	if len(l.queueDestination.lanes) == 0 {
		pl.leaseDestination(q, name.Destination, l.queueDestination)
	}
	l.queueDestination.lanes = append(l.queueDestination.lanes, l)
	l.inQueue, q.lanes = len(q.lanes), append(q.lanes, l)
	l.inDestination, l.destination.lanes = len(l.destination.lanes), append(l.destination.lanes, l)
	l.inNamespace, q.namespace.lanes = len(q.namespace.lanes), append(q.namespace.lanes, l)
	q.update.grown()
	l.destination.update.grown()
	pl.lanes[name] = l
	return l
}

func (pl *Planner) next() uint64 {
	pl.number++
	return pl.number
}

func (pl *Planner) queueOf(key queueKey, now task.Millis) *queue {
	if q := pl.queues[key]; q != nil {
		return q
	}
	t := pl.namespaceOf(key.namespace)
	q := &queue{key: key, namespace: t, settings: pl.settings.Queue(key.namespace, key.name), destinations: map[string]*queueDestination{}, servedRank: servedRank{number: pl.next()}, free: pl.monotonic}
	q.node.owner, q.quarantineNode.owner, q.wakeup.owner = q, q, q
	q.update.lanes = func() []*lane { return q.lanes }
	q.bucket.configure(q.settings, pl.monotonic)
	pl.leaseLimits(q)
	pl.queues[key] = q
	q.inNamespace, t.all = len(t.all), append(t.all, q)
	pl.refresh(q, now)
	return q
}

func (pl *Planner) namespaceOf(name string) *namespace {
	t := pl.namespaces[name]
	if t == nil {
		t = &namespace{name: name, suspended: pl.settings.Suspended(name), servedRank: servedRank{number: pl.next()}, round: round{checked: pl.checked}}
		t.node.owner = t
		pl.namespaces[name] = t
	}
	return t
}

func (pl *Planner) destinationOf(key destinationKey) *destination {
	t := pl.destinations[key]
	if t == nil {
		t = &destination{key: key, number: pl.next(), class: unknown}
		if t.kind, t.runs = pl.runs(key); t.kind != nil {
			t.class = handler
		}
		t.wakeup.owner, t.namespace = t, pl.namespaceOf(key.namespace)
		t.update.lanes = func() []*lane { return t.lanes }
		t.inNamespace, t.namespace.destinations = len(t.namespace.destinations), append(t.namespace.destinations, t)
		pl.destinations[key] = t
	}
	return t
}

// drop forgets an idle lane.
func (pl *Planner) drop(l *lane, now task.Millis) {
	delete(pl.lanes, l.name)
	q, t, o := l.queue, l.destination, l.queueDestination
	q.lanes = without(q.lanes, l.inQueue, func(l *lane) *int { return &l.inQueue })
	t.lanes = without(t.lanes, l.inDestination, func(l *lane) *int { return &l.inDestination })
	q.namespace.lanes = without(q.namespace.lanes, l.inNamespace, func(l *lane) *int { return &l.inNamespace })
	i := slices.Index(o.lanes, l)
	o.lanes = slices.Delete(o.lanes, i, i+1)
	if len(o.lanes) == 0 {
		pl.dropLease(o.lease)
		delete(q.destinations, l.name.Destination)
	}
	pl.filled(&q.update, l.inQueue, now)
	pl.filled(&t.update, l.inDestination, now)
}

// without returns list without the member at index at. The last member takes
// that index. place returns a pointer to a member's stored index.
func without[T any](list []T, at int, place func(T) *int) []T {
	last := len(list) - 1
	list[at] = list[last]
	*place(list[at]) = at
	var none T
	list[last] = none
	return list[:last]
}

// shortenWindow shortens the window of l after the wall clock has stepped back:
// hints for times beyond the new end were ignored.
func (pl *Planner) shortenWindow(l *lane, now task.Millis) {
	end := task.Position{Due: now.Add(pl.config.Window) + 1}
	if end.Less(l.cursor) {
		l.cursor = end
	}
	pl.countForgotten(l, l.trim(end))
	l.served, l.read = min(l.served, now), min(l.read, now)
	pl.place(l, now)
}

const (
	// rememberLane is how long an empty lane with a raised allowance is kept,
	// so that its next task does not start with the smallest one.
	rememberLane = time.Minute
	// rememberDestination is how long the state of a receiver without tasks is
	// kept. rememberDestinations is the number of such receivers. Namespaces
	// share it evenly.
	rememberDestination  = 10 * time.Minute
	rememberDestinations = 10_000
)

// mustKeep reports whether an empty lane must be kept.
func (pl *Planner) mustKeep(l *lane, now task.Millis) bool {
	if l.emptied == 0 {
		l.emptied = now
	}
	if s := l.queueDestination.lease; s != nil && !s.released() {
		return true // the lease must still be returned
	}
	return l.allowance > pl.slots.base() && max(now-l.emptied, l.emptied-now) < task.Millis(rememberLane.Milliseconds())
}
