package planner

import (
	"math"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// namespace is what is known of one namespace: its queues take turns, and namespaces
// among each other.
type namespace struct {
	name   string
	queues waitTree[*queue] // that may start something
	busy   int              // lanes with a task that is due
	node   node[*namespace]
	turns

	suspended bool // nothing of it is claimed or fired: see queue.stopped

	// All of it that is known, in no order.
	lanes        []*lane
	all          []*queue
	destinations []*destination

	known     int         // tasks
	readQueue heap[*lane] // lanes that want to be read
	heard     int         // hints of it in Planner.heard
	ended     []task.Key  // schedules with ended occurrences, which may wait for that
	round     round
}

// reserve returns how many tasks of each lane of t may be known, however full the
// window is.
func (t *namespace) reserve(window int) int {
	return min(reserve, max(2*window/max(len(t.lanes), 1), leastReserve))
}

// queue is what is known of a queue: its limits, and its lanes by priority.
type queue struct {
	key          queueKey
	namespace    *namespace
	settings     *task.QueueSettings
	bands        [task.Quarantine + 1]priorityBand // by priority
	destinations map[string]*queueDestination
	lanes        []*lane
	inNamespace  int // its place in the namespace's list
	update       laneUpdate
	wakeup       Wakeup // for the next token, or the end of a pause

	free    time.Duration // valid unless it is held or stopped: since when, or since when it is known
	held    bool          // nothing is claimed but what was run by hand, and nothing else is known
	stopped bool          // nothing at all is claimed, fired or known: its namespace is suspended
	bucket  bucket
	lease   *LimitLease // nil: the limits are this node's alone, or there are none
	running int
	tried   [classes]int // of them, by what their destination was at the pick

	busy  int   // lanes with a task that is due
	round int64 // the turn of the priority that was served last
	node  node[*queue]
	turns

	quarantineNode node[*queue] // in quarantine, for the slot
	quarantineTurn uint64       // its last pick in quarantine, 0: none
}

type queueKey struct{ namespace, name string }

// queueDestination is the lanes of a queue that lead to one destination.
type queueDestination struct {
	lanes   []*lane // one for each priority, at most
	running int
	lease   *LimitLease // as the queue's
}

// priorityBand is the lanes of one priority of a queue.
type priorityBand struct {
	lanes waitTree[*lane] // that are ready
	busy  int             // with a task that is due, ready or not
	turn  int64
}

// turns is the place of a queue among those of its namespace, or of a
// namespace: who has waited longest is next, since it was served last or since
// it has got something to do.
type turns struct {
	since  uint64 // the number of the pick before
	number uint64
}

func (t *turns) rank() rank { return rank{since: int64(t.since), number: t.number} }

// stride is how many rounds a priority lets pass between two turns: where all
// three have something to do, of 21 turns high gets 16, normal 4 and low 1, and
// what has just got something to do waits for at most so many turns of others.
var stride = [...]int64{task.High: 1, task.Normal: 4, task.Low: 16, task.Quarantine: 0}

// Where there is more to do than can be done, turns are taken: among namespaces,
// among the queues of each, and among the three priorities of a queue. Everyone
// gets his share of the starts whatever his number of lanes and his backlog. Who
// was quiet waits for one round. Who was kept from starting for long, by a limit
// or a receiver, has one turn ahead of others, and not a hoard of them.
//
// Of priorities the smallest turn is served: a stride after the turn that was
// served when it got something to do, or was served itself. A handicap in time,
// ten seconds for each priority, was built first: with turns it came to one
// start of a lower priority in ten seconds, however many tasks waited. What was
// run by hand and what is in quarantine have no such turns: see first and quarantineSlot.

// noteBusy notes that a lane has got (1) or lost (-1) a task that is due.
func (pl *Planner) noteBusy(l *lane, by int) {
	q, t := l.queue, l.queue.namespace
	s := &q.bands[l.name.Priority]
	if s.busy += by; by > 0 && s.busy == 1 {
		s.turn = q.round + stride[l.name.Priority]
	}
	if q.busy += by; by > 0 && q.busy == 1 {
		q.since = pl.turn
	}
	if t.busy += by; by > 0 && t.busy == 1 {
		t.since = pl.turn
	}
}

// served notes that l has had a turn.
func (pl *Planner) served(l *lane, now task.Millis) {
	q := l.queue
	s := &q.bands[l.name.Priority]
	pl.turn++
	l.served, l.turn = now, pl.turn
	q.since, q.namespace.since = pl.turn, pl.turn
	if l.name.Priority.Valid() {
		q.round = max(q.round, s.turn)
		s.turn = q.round + stride[l.name.Priority]
	}
}

// first returns the lane of q that is served next, nil for none. What was run
// by hand goes before everything.
func (q *queue) first(left cost) *lane {
	for c, n := range q.tried {
		if class(c) != proven && int32(n/3) >= left[c] {
			left[c] = 0
		}
	}
	if int32(q.running) >= left[share] {
		left[share] = 0
	}
	if s := q.bands[task.Urgent].lanes.first(left); s != nil {
		return s.owner
	}
	var best *priorityBand
	for p := task.High; p <= task.Low; p++ {
		s := &q.bands[p]
		if s.lanes.minCost().fit(left) && (best == nil || s.turn < best.turn) {
			best = s
		}
	}
	if best == nil {
		return nil
	}
	return best.lanes.first(left).owner
}

// reposition puts q where it belongs after any change of its lanes, limits or
// tokens, in its namespace and in quarantine, and sets its wake-up for when that
// changes by itself.
func (pl *Planner) reposition(q *queue) {
	var next time.Duration
	need, open := q.bands[task.Urgent].lanes.minCost(), false
	if !q.held {
		if routine := q.routine(); routine != neverFits || q.quarantined() {
			at := q.token(pl.monotonic)
			if open = at <= pl.monotonic; open {
				need = need.least(routine)
			} else if at != nowhen {
				next = at
			}
		}
	}
	if q.stopped || q.full(pl.monotonic) {
		need, open, next = neverFits, false, 0
	}
	for c, n := range q.tried {
		if class(c) != proven && need[c] != never {
			need[c] = max(need[c], int32(n/3))
		}
	}
	if need[share] != never {
		need[share] = int32(q.running)
	}
	if !q.held { // then it is set for the end of the pause
		pl.arm(&q.wakeup, 0, next)
	}
	pl.quarantine.put(q, open && q.quarantined())
	t := q.namespace
	t.queues.put(&q.node, q.rank(), need)
	pl.startable.put(&t.node, t.rank(), t.cost())
	if q.lease != nil {
		pl.considerRequest(q.lease)
	}
}

// token returns when q has a token: at or before now, if it has one.
func (q *queue) token(now time.Duration) time.Duration {
	if q.lease != nil && q.lease.rated() {
		return q.lease.token(now)
	}
	return q.bucket.next(now)
}

// full reports whether q has all under way that it may have.
func (q *queue) full(now time.Duration) bool {
	c := q.settings.Concurrency
	return c > 0 && (q.running >= c || q.lease != nil && q.lease.full(now))
}

// cost returns the least that a queue of t needs. The share of t is divided
// among its queues: divide does that with the share, cost with its inverse, so
// that both come to the same.
func (t *namespace) cost() cost {
	n := t.queues.minCost()
	if n[share] != never {
		n[share] = int32(min(int64(n[share])*int64(t.queues.size), never-1))
	}
	return n
}

// divide returns what is left to each queue of t, of what is left to t. There
// must be a queue that could start something.
func (t *namespace) divide(left cost) cost {
	n := int32(t.queues.size)
	left[share] = (left[share] + n - 1) / n
	return left
}

// quarantined reports whether q has a lane in quarantine that could start
// something, but for the quarantine slot and the limits of q.
func (q *queue) quarantined() bool { return q.bands[task.Quarantine].lanes.size > 0 }

// routine returns the least that a lane of q needs which was not run by hand,
// nor is in quarantine.
func (q *queue) routine() cost {
	n := neverFits
	for p := task.High; p <= task.Low; p++ {
		n = n.least(q.bands[p].lanes.minCost())
	}
	return n
}

// depth is how many tasks of l are of use to know of, however much room there
// is: a limited queue starts only so many in the time of a window.
func (pl *Planner) depth(l *lane) int {
	switch q := l.queue; {
	case q.holds(l.name.Priority):
		return 0
	case l.destination.breaker.open:
		return reserve
	case q.bucket.limited():
		return reserve + int(min(q.settings.Rate*pl.config.Window.Seconds(), float64(pl.config.Tasks)))
	}
	return math.MaxInt
}

// resizeLane takes in that the depth of l may have changed.
func (pl *Planner) resizeLane(l *lane, now task.Millis) {
	if l.queue.holds(l.name.Priority) {
		pl.gone(l, l.clear())
		return
	}
	if depth := pl.depth(l); l.order.len() > depth {
		pl.gone(l, l.shed(depth))
	}
	if l.behind && pl.needsMore(l, now) {
		pl.requestRead(l, l.next())
	}
}

// wake is called at q's wake-up: there is a token, or a pause ends.
func (q *queue) wake(pl *Planner, now task.Millis) { pl.refresh(q, now) }

// refresh takes in what time has done to q.
func (pl *Planner) refresh(q *queue, now task.Millis) {
	if held, stopped := q.settings.Held(now), q.namespace.suspended; held != q.held || stopped != q.stopped {
		pl.hold(q, now, held, stopped)
	}
	if until := q.settings.PausedUntil; q.held && until > now {
		pl.arm(&q.wakeup, until, 0)
	}
	pl.reposition(q)
}

// hold stops q, or lets it go on. What is held is not known of: it would take
// the room of others, however long. It is read again afterwards.
func (pl *Planner) hold(q *queue, now task.Millis, held, stopped bool) {
	if q.held && !held || q.stopped && !stopped {
		pl.needsSurvey = true
		q.namespace.round.hurry()
	}
	q.held, q.stopped, q.free = held, stopped, pl.monotonic
	pl.redo(&q.update, now)
}

// holds reports whether tasks of q that have this priority must wait, for as long as q is held
// or its namespace is suspended.
func (q *queue) holds(p task.Priority) bool { return q.stopped || q.held && p != task.Urgent }
