package planner

import (
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// laneOf returns a lane, and opens it if it is not known. It returns nil if the
// lane is unknown and its queue holds tasks of its priority, because these must
// not be kept.
func (pl *Planner) laneOf(name task.Lane, now task.Millis) *lane {
	if l := pl.lanes[name]; l != nil {
		return l
	}
	q := pl.queueOf(queueKey{name.Namespace, name.Queue}, now)
	if q.holds(name.Priority) {
		return nil
	}
	l := &lane{
		name: name, number: pl.next(), queue: q,
		ahead: ahead{known: map[string]*item{}}, turn: turn{allowance: pl.choose.slots.base()},
	}
	l.node.owner, l.wakeup.owner = l, l
	l.destination = pl.destinationOf(destinationKey{name.Namespace, name.Destination})
	l.queueDestination = q.destinations[name.Destination]
	if l.queueDestination == nil {
		l.queueDestination = &queueDestination{}
		q.destinations[name.Destination] = l.queueDestination
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
	n := pl.namespaceOf(key.namespace)
	q := &queue{key: key, namespace: n, settings: pl.settings.Queue(key.namespace, key.name), destinations: map[string]*queueDestination{}, servedRank: servedRank{number: pl.next()}, free: pl.monotonic}
	q.node.owner, q.quarantineNode.owner, q.wakeup.owner = q, q, q
	q.update.lanes = &q.lanes
	q.bucket.configure(q.settings, pl.monotonic)
	pl.leaseLimits(q)
	pl.queues[key] = q
	q.inNamespace, n.all = len(n.all), append(n.all, q)
	pl.checkHold(q, now)
	return q
}

func (pl *Planner) namespaceOf(name string) *namespace {
	n := pl.namespaces[name]
	if n == nil {
		n = &namespace{name: name, suspended: pl.settings.Suspended(name), servedRank: servedRank{number: pl.next()}, round: round{checked: pl.window.checked}}
		n.node.owner = n
		pl.namespaces[name] = n
	}
	return n
}

func (pl *Planner) destinationOf(key destinationKey) *destination {
	d := pl.destinations[key]
	if d == nil {
		n := pl.namespaceOf(key.namespace)
		d = &destination{key: key, number: pl.next(), namespace: n, class: unknown}
		if d.kind, d.runs = pl.runs(key); d.kind != nil {
			d.class = handler
		}
		d.wakeup.owner, d.update.lanes = d, &d.lanes
		d.inNamespace, n.destinations = len(n.destinations), append(n.destinations, d)
		pl.destinations[key] = d
	}
	return d
}

// drop forgets an idle lane.
func (pl *Planner) drop(l *lane) {
	delete(pl.lanes, l.name)
	l.gone = true
	q, d, qd := l.queue, l.destination, l.queueDestination
	q.lanes = without(q.lanes, l.inQueue, func(l *lane) *int { return &l.inQueue })
	d.lanes = without(d.lanes, l.inDestination, func(l *lane) *int { return &l.inDestination })
	q.namespace.lanes = without(q.namespace.lanes, l.inNamespace, func(l *lane) *int { return &l.inNamespace })
	qd.lanes = slices.DeleteFunc(qd.lanes, func(other *lane) bool { return other == l })
	if len(qd.lanes) == 0 {
		pl.dropLease(qd.lease)
		delete(q.destinations, l.name.Destination)
	}
	pl.filled(&q.update, l.inQueue)
	pl.filled(&d.update, l.inDestination)
}

// without removes list[at], moves the last member there, and returns the
// shorter list. place returns a pointer to a member's stored index.
func without[T any](list []T, at int, place func(T) *int) []T {
	last := len(list) - 1
	list[at] = list[last]
	*place(list[at]) = at
	var none T
	list[last] = none
	return list[:last]
}
