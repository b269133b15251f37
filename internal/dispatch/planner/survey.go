package planner

import (
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

const (
	// pageLanes bounds one page of a round. roundPages bounds the namespaces
	// that have a page in one step. This is the work of one critical section.
	pageLanes, roundPages = 256, 64
	// lanePause is how long the next round of a namespace waits for each lane
	// that the last round has seen. So rounds cost about a tenth of a
	// processor, for any number of lanes. From 25,000 lanes on, rounds are
	// rarer than polls.
	lanePause = 10 * time.Microsecond
	// rescanEvery is the shortest time between two scans of a lane whose tasks
	// this process does not run.
	rescanEvery = 10 * time.Second
)

// round is the survey of a namespace. It compares known lanes with the store's
// lanes. It also checks everything that has a wake-up, because a wake-up could
// have been lost. A round is done in pages, and the rounds of all namespaces
// take turns, page by page. So a namespace with 100,000 lanes neither delays
// other namespaces nor holds the lock for long.
type round struct {
	under bool          // the round is under way; the namespace is in Planner.rounds, or in a step
	again bool          // another round must follow directly
	next  time.Duration // the earliest begin of the next round
	poll  uint64        // the last poll in which the store named the namespace

	// Valid while the round is under way.
	began       time.Duration
	steppedBack bool // the wall clock has stepped back since the last round
	lanes       int  // number of lanes it has seen
	idle        int  // number of destinations without tasks it has seen
	// The indexes down to which lanes, queues and destinations were checked.
	lane, queue, destination int
	from                     store.LaneCursor
	read                     bool // all lanes of the store were read

	checked task.Millis // when the last round began
}

// restartSoon lets another round begin at once.
func (r *round) restartSoon() { r.next, r.again = 0, r.under }

// Page is one step of the round of a namespace.
type Page struct {
	store.LanePageRead
	namespace *namespace
}

// BeginRounds begins the rounds whose pause is over. names are the namespaces
// that have lanes in the store.
func (pl *Planner) BeginRounds(now task.Millis, names []string) {
	pl.polls++
	for _, name := range names {
		pl.namespaceOf(name).round.poll = pl.polls
	}
	for _, t := range pl.namespaces {
		if !t.round.under && t.round.next <= pl.monotonic {
			pl.beginRound(t, now)
		}
	}
	pl.checked = now
}

func (pl *Planner) beginRound(t *namespace, now task.Millis) {
	r := &t.round
	*r = round{
		under: true, poll: r.poll, began: pl.monotonic, steppedBack: r.checked > now, checked: now,
		lane: len(t.lanes), queue: len(t.all), destination: len(t.destinations), read: r.poll != pl.polls,
	}
	pl.rounds = append(pl.rounds, t)
}

// Pages does the next step of the rounds that are under way. It returns the
// pages of lanes that the step must read. AbsorbPages must be called with them
// before the next step. Pages must not be called while reads are under way.
func (pl *Planner) Pages(now task.Millis) (pages []Page) {
	budget := 8 * pageLanes
	for n := min(len(pl.rounds), roundPages); n > 0 && budget > 0; n-- {
		t := pl.rounds[0]
		pl.rounds[0] = nil
		pl.rounds = pl.rounds[1:]
		budget -= min(len(t.lanes)+1, pageLanes)
		pl.checkSome(t, now, pageLanes)
		if t.round.read {
			pl.rotateRounds(t, now)
			continue
		}
		pages = append(pages, Page{store.LanePageRead{Namespace: t.name, From: t.round.from, Limit: pageLanes}, t})
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

// rotateRounds moves t to the end of Planner.rounds, or ends its round if every
// lane, queue and destination was checked.
func (pl *Planner) rotateRounds(t *namespace, now task.Millis) {
	r := &t.round
	if !r.read || r.lane > 0 || r.queue > 0 || r.destination > 0 {
		pl.rounds = append(pl.rounds, t)
		return
	}
	r.under, r.next = false, r.began+time.Duration(r.lanes)*lanePause
	if r.again {
		pl.beginRound(t, now)
		return
	}
	pl.forgetNamespace(t)
}

// forgetNamespace forgets a namespace without known lanes.
func (pl *Planner) forgetNamespace(t *namespace) {
	if len(t.all) == 0 && len(t.destinations) == 0 && len(t.ended) == 0 && t.round.poll != pl.polls {
		delete(pl.namespaces, t.name)
	}
}

// checkSome checks the next lanes of t, or queues and destinations if no lanes
// are left: at most limit of each. It counts down from the last index. If a
// lane is removed, the last lane takes its index, and that lane was checked
// before.
func (pl *Planner) checkSome(t *namespace, now task.Millis, limit int) {
	r := &t.round
	for n := limit; n > 0 && r.lane > 0; n-- {
		r.lane--
		if r.lane < len(t.lanes) {
			r.lanes++
			pl.checkLane(t.lanes[r.lane], now)
		}
	}
	if r.lane > 0 {
		return
	}
	for n := limit; n > 0 && r.queue > 0; n-- {
		r.queue--
		if r.queue < len(t.all) {
			pl.checkQueue(t.all[r.queue], now)
		}
	}
	for n := limit; n > 0 && r.destination > 0; n-- {
		r.destination--
		if r.destination < len(t.destinations) {
			pl.checkDestination(t.destinations[r.destination], now)
		}
	}
}

// checkLane repairs the effect of a lost wake-up, and removes an idle lane. If
// this process does not run the tasks of the lane, checkLane also requests a
// scan. In such a lane, no claim detects that a known task was cancelled, moved
// or replaced.
func (pl *Planner) checkLane(l *lane, now task.Millis) {
	if l.queue.namespace.round.steppedBack {
		pl.shortenWindow(l, now)
	}
	if !l.destination.runs && l.order.len() > 0 && pl.monotonic-l.rescanned >= rescanEvery {
		l.scan, l.scanned, l.rescanned = true, task.Position{}, pl.monotonic
		pl.requestRead(l, l.earliest())
	}
	switch {
	case l.state == waiting && l.wakeup.Wall <= now:
		pl.Wake(&l.wakeup, now)
	case l.state == idle && l.running == 0 && !l.needsRead && !l.firing && !pl.mustKeep(l, now):
		pl.drop(l, now)
	}
}

func (pl *Planner) checkQueue(q *queue, now task.Millis) {
	// Other queues do not change with time.
	if q.wakeup.IsSet() || q.held != q.settings.Held(now) || q.stopped != q.namespace.suspended {
		pl.refresh(q, now)
	}
	justOpened := q.opened != 0 && pl.monotonic-q.opened < rememberLane // its tasks are being read: see waited
	if len(q.lanes) > 0 || justOpened || q.held || q.stopped || q.bucket.debt(pl.monotonic) > 0 || q.lease != nil && !q.lease.released() {
		return
	}
	pl.arm(&q.wakeup, 0, 0)
	pl.dropLease(q.lease)
	delete(pl.queues, q.key)
	q.namespace.all = without(q.namespace.all, q.inNamespace, func(q *queue) *int { return &q.inNamespace })
}

func (pl *Planner) checkDestination(t *destination, now task.Millis) {
	if t.wakeup.IsSet() && t.wakeup.Monotonic <= pl.monotonic {
		pl.Wake(&t.wakeup, now)
	}
	if len(t.lanes) > 0 || t.closedUntil() > pl.monotonic {
		return
	}
	r := &t.namespace.round
	if r.idle++; t.lastReply == 0 || pl.monotonic-t.lastReply > rememberDestination || r.idle > rememberDestinations/len(pl.namespaces) {
		before := t.breaker
		t.breaker = breaker{}
		pl.recordBreakerChange(t, before, nil)
		pl.arm(&t.wakeup, 0, 0)
		delete(pl.destinations, t.key)
		t.namespace.destinations = without(t.namespace.destinations, t.inNamespace, func(t *destination) *int { return &t.inNamespace })
	}
}
