package planner

import (
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

const (
	// pageLanes bounds one page of a round. roundPages is how many namespaces
	// have a page in one step, which holds the lock once.
	pageLanes, roundPages = 256, 64
	// lanePause is how long the next round of a namespace waits for each lane
	// that the last round has seen, so rounds cost about a tenth of a
	// processor, for any number of lanes. A known lane counts twice, here and
	// in the store, so a namespace with more than 12,500 known lanes has fewer
	// rounds than polls.
	lanePause = 10 * time.Microsecond
	// rescanEvery is the shortest time between two scans of a lane with tasks
	// that this node does not run.
	rescanEvery = 10 * time.Second
)

// round is the survey of a namespace. It compares known lanes with the store's
// lanes, and checks everything that has a wake-up, because a wake-up could have
// been lost. A round is done in pages, and the rounds of all namespaces take
// turns, page by page. So a namespace with 100,000 lanes neither delays other
// namespaces nor holds the lock for long.
type round struct {
	active bool          // the round is under way; the namespace is in window.rounds, or in a step
	again  bool          // another round must follow directly
	next   time.Duration // the earliest begin of the next round
	poll   uint64        // the last poll in which the store named the namespace

	// Valid while the round is under way.
	began       time.Duration
	steppedBack bool // the wall clock has stepped back since the last round
	lanes       int  // number of lanes it has seen
	idle        int  // number of destinations without tasks it has seen
	// The indexes down to which lanes, queues and destinations were checked.
	lane, queue, destination int
	from                     store.LaneCursor
	read                     bool // nothing is left to read: all lanes were read, the read failed, or the store has none

	checked task.Millis // when the last round began
}

// restartSoon lets another round begin at once.
func (r *round) restartSoon() { r.next, r.again = 0, r.active }

// Page is one step of the round of a namespace.
type Page struct {
	store.LanePageRead
	namespace *namespace
}

// BeginRounds begins a round for each namespace whose pause is over. names are
// the namespaces that have lanes in the store.
func (pl *Planner) BeginRounds(now task.Millis, names []string) {
	w := &pl.window
	w.polls++
	for _, name := range names {
		pl.namespaceOf(name).round.poll = w.polls
	}
	for _, n := range pl.namespaces {
		if !n.round.active && n.round.next <= pl.monotonic {
			w.beginRound(n, now, pl.monotonic)
		}
	}
	w.checked = now
}

func (w *window) beginRound(n *namespace, now task.Millis, monotonic time.Duration) {
	r := &n.round
	*r = round{
		active: true, poll: r.poll, began: monotonic, steppedBack: r.checked > now, checked: now,
		lane: len(n.lanes), queue: len(n.all), destination: len(n.destinations), read: r.poll != w.polls,
	}
	w.rounds = append(w.rounds, n)
}

// Pages does the next step of the rounds that are under way, and returns the
// pages of lanes that the step must read. AbsorbPages must be called with them
// before the next step. Pages must not be called between Reads and AbsorbReads.
func (pl *Planner) Pages(now task.Millis) (pages []Page) {
	pl.refresh(now)
	budget := 8 * pageLanes
	for k := min(len(pl.window.rounds), roundPages); k > 0 && budget > 0; k-- {
		n := pop(&pl.window.rounds)
		budget -= min(len(n.lanes)+1, pageLanes)
		pl.checkSome(n, now, pageLanes)
		if n.round.read {
			pl.rotateRounds(n, now)
			continue
		}
		pages = append(pages, Page{store.LanePageRead{Namespace: n.name, From: n.round.from, Limit: pageLanes}, n})
	}
	return pages
}

// AbsorbPages applies the results of the reads of a step. found is nil if the
// reads failed: these rounds end, and begin again with the next poll.
func (pl *Planner) AbsorbPages(now task.Millis, pages []Page, found []store.LanePage) {
	for i, p := range pages {
		r := &p.namespace.round
		if found == nil {
			r.read = true
		} else {
			pl.survey(now, found[i].Heads)
			r.lanes += len(found[i].Heads)
			r.from, r.read = found[i].Next, found[i].Last
		}
		pl.rotateRounds(p.namespace, now)
	}
}

// survey compares lanes with their heads in the store, and opens those that are
// not known.
func (pl *Planner) survey(now task.Millis, heads []task.LaneHead) {
	for _, h := range heads {
		if l := pl.laneOf(h.Lane, now); l != nil {
			pl.window.compare(l, h.Due, now)
		}
	}
}

// rotateRounds moves n to the end of the rounds, or ends its round if every
// lane, queue and destination was checked. It then forgets a namespace without
// known lanes.
func (pl *Planner) rotateRounds(n *namespace, now task.Millis) {
	r := &n.round
	if !r.read || r.lane > 0 || r.queue > 0 || r.destination > 0 {
		pl.window.rounds = append(pl.window.rounds, n)
		return
	}
	r.active, r.next = false, r.began+time.Duration(r.lanes)*lanePause
	switch {
	case r.again:
		pl.window.beginRound(n, now, pl.monotonic)
	case len(n.all) == 0 && len(n.destinations) == 0 && len(n.ended) == 0 && r.poll != pl.window.polls:
		delete(pl.namespaces, n.name)
	}
}

// checkSome checks the next lanes of n, or queues and destinations if no lanes
// are left: at most limit of each. It counts down, because a removed lane is
// replaced by the last lane, which was already checked.
func (pl *Planner) checkSome(n *namespace, now task.Millis, limit int) {
	r := &n.round
	r.lanes += checkDown(&r.lane, &n.lanes, limit, func(l *lane) { pl.checkLane(l, now) })
	if r.lane > 0 {
		return
	}
	checkDown(&r.queue, &n.all, limit, func(q *queue) { pl.checkQueue(q, now) })
	checkDown(&r.destination, &n.destinations, limit, func(d *destination) { pl.checkDestination(d, now) })
}

// checkDown calls check for at most limit members of a list before index *at,
// from the end. It moves *at and returns their number. check can remove the
// member.
func checkDown[T any](at *int, list *[]T, limit int, check func(T)) (n int) {
	for ; limit > 0 && *at > 0; limit-- {
		if *at--; *at < len(*list) {
			n++
			check((*list)[*at])
		}
	}
	return n
}

// checkLane repairs the effect of a lost wake-up, and removes an idle lane. If
// this node does not run the tasks of the lane, checkLane also requests a scan.
// The scan is necessary because no claim in such a lane shows that a known task
// was cancelled, moved or replaced.
func (pl *Planner) checkLane(l *lane, now task.Millis) {
	if l.queue.namespace.round.steppedBack {
		pl.window.shorten(l, now)
		pl.mark(l, false)
		pl.refresh(now)
	}
	if !l.destination.runs && l.order.len() > 0 && pl.monotonic-l.rescanned >= rescanEvery {
		l.scan, l.scanned, l.rescanned = true, task.Position{}, pl.monotonic
		pl.window.requestRead(l, l.earliest())
	}
	switch {
	case l.state == waiting && l.wakeup.Wall <= now:
		pl.Wake(&l.wakeup, now)
	case l.order.len() == 0 && l.running == 0 && !l.needsRead && !l.firing && !pl.mustKeep(l, now):
		pl.drop(l)
	}
}

func (pl *Planner) checkQueue(q *queue, now task.Millis) {
	// Other queues do not change with time.
	if q.wakeup.IsSet() || q.held != q.settings.Held(now) || q.stopped != q.namespace.suspended {
		pl.checkHold(q, now)
		pl.refresh(now)
	}
	justOpened := q.obstacleEnded != 0 && pl.monotonic-q.obstacleEnded < rememberLane // its tasks are being read: waited needs the time
	if len(q.lanes) > 0 || justOpened || q.held || q.stopped || q.bucket.debt(pl.monotonic) > 0 || q.lease != nil && !q.lease.released() {
		return
	}
	pl.arm(&q.wakeup, 0, 0)
	pl.dropLease(q.lease)
	delete(pl.queues, q.key)
	q.gone = true
	q.namespace.all = without(q.namespace.all, q.inNamespace, func(q *queue) *int { return &q.inNamespace })
}

func (pl *Planner) checkDestination(d *destination, now task.Millis) {
	if d.wakeup.IsSet() && d.wakeup.Monotonic <= pl.monotonic {
		pl.Wake(&d.wakeup, now)
	}
	if len(d.lanes) > 0 || d.waitsUntil() > pl.monotonic {
		return
	}
	r := &d.namespace.round
	if r.idle++; d.lastEnd == 0 || pl.monotonic-d.lastEnd > rememberDestination || r.idle > rememberDestinations/len(pl.namespaces) {
		before := d.breaker
		d.breaker = breaker{}
		pl.limits.recordBreaker(d, before, pl.monotonic, nil)
		pl.arm(&d.wakeup, 0, 0)
		delete(pl.destinations, d.key)
		d.namespace.destinations = without(d.namespace.destinations, d.inNamespace, func(d *destination) *int { return &d.inNamespace })
	}
}

const (
	// rememberLane is how long an empty lane with a raised allowance is kept,
	// so that it need not grow the allowance again.
	rememberLane = time.Minute
	// rememberDestination is how long the state of a receiver without tasks is
	// kept. rememberDestinations is how many such receivers are kept, divided
	// evenly among the namespaces.
	rememberDestination  = 10 * time.Minute
	rememberDestinations = 10_000
)

// mustKeep reports whether an empty lane must be kept.
func (pl *Planner) mustKeep(l *lane, now task.Millis) bool {
	if l.emptied == 0 {
		l.emptied = now
	}
	if lease := l.queueDestination.lease; lease != nil && !lease.released() {
		return true // the lease must still be returned
	}
	return l.allowance > pl.choose.slots.base() && max(now-l.emptied, l.emptied-now) < task.Millis(rememberLane.Milliseconds())
}
