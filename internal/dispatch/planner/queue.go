package planner

import (
	"math"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// namespace is the state of one namespace. Namespaces take turns, and so do the
// queues of each namespace.
type namespace struct {
	name   string
	queues waitTree[*queue] // queues that can start a task
	busy   int              // number of lanes with a task that is due
	node   node[*namespace]
	servedRank

	suspended bool // no task is claimed and no schedule is fired: see queue.stopped

	// All its members, in no order.
	lanes        []*lane
	all          []*queue
	destinations []*destination

	known     int         // number of known tasks
	readQueue heap[*lane] // lanes to read
	keptHints int         // number of its hints in Planner.keptHints
	ended     []task.Key  // schedules that may wait for an occurrence that has ended
	round     round
}

// reserve returns how many tasks each lane of t is allowed to keep, even if the
// window is full.
func (t *namespace) reserve(window int) int {
	return min(reserve, max(2*window/max(len(t.lanes), 1), leastReserve))
}

// queue is the state of a queue: its limits, and its lanes by priority.
type queue struct {
	key          queueKey
	namespace    *namespace
	settings     *settings.QueueSettings
	bands        [task.Quarantine + 1]priorityBand // the key is the priority
	destinations map[string]*queueDestination
	lanes        []*lane
	inNamespace  int // its index in the namespace's list
	update       laneUpdate
	wakeup       Wakeup // set for the next token, or for the end of a pause

	free    time.Duration // when the queue was last released, or added to the Planner; not valid while it is held or stopped
	opened  time.Duration // see waited
	closed  bool          // a limit or a setting stops its due tasks
	held    bool          // only tasks that were run by hand are claimed and kept
	stopped bool          // its namespace is suspended: no task is claimed or kept, and no schedule is fired
	bucket  bucket
	lease   *LimitLease // nil means that the queue has no limits, or that no other node shares them
	running int
	tried   [classes]int // attempts under way, by the class of their destination at the pick

	busy int   // number of lanes with a task that is due
	pass int64 // the pass of the priority that was served last
	node node[*queue]
	servedRank

	quarantineNode     node[*queue] // its node in the tree of the quarantine slot
	lastQuarantinePick uint64       // the number of its last pick in quarantine; zero means none
}

type queueKey struct{ namespace, name string }

// queueDestination holds the lanes of one queue for one destination.
type queueDestination struct {
	lanes   []*lane // at most one for each priority
	running int
	lease   *LimitLease // nil means that there is no limit per destination, or that no other node shares it
}

// priorityBand holds the lanes of one priority of a queue.
type priorityBand struct {
	lanes waitTree[*lane] // ready lanes
	busy  int             // number of lanes with a task that is due, ready or not
	pass  int64           // the band with the smallest pass is served next
}

// servedRank is the rank of a queue in its namespace, or of a namespace. The
// queue or namespace that has waited longest is next. Its wait begins when it
// was last served, or when it became busy, if that was later.
type servedRank struct {
	since  uint64 // the number of the latest pick when the wait began
	number uint64
}

func (t *servedRank) rank() rank { return rank{since: int64(t.since), number: t.number} }

// stride is how many rounds a priority waits between two turns. If all three
// priorities are busy, high gets 16 of 21 turns, normal 4 and low 1. A priority
// that has just become busy waits for at most that many turns of the other
// priorities.
var stride = [...]int64{task.High: 1, task.Normal: 4, task.Low: 16, task.Quarantine: 0}

// If there is more work than capacity, the namespaces take turns. So do the
// queues of each namespace, and the three priorities of each queue. Each gets
// its share of the attempts that start, regardless of its number of lanes and
// the size of its backlog. A queue that was quiet waits for one round. A queue
// that a limit or a receiver has stopped for a long time gets one turn before
// the other queues. It does not save up turns.
//
// The priority with the smallest pass is served, as in stride scheduling. When
// a priority becomes busy, its pass is set to the pass that was served last,
// plus its stride. After each pick its pass advances by its stride again. The
// first design delayed each lower priority by ten seconds instead. Combined
// with turns, it started only one task of a lower priority in ten seconds,
// however many tasks waited. Tasks that were run by hand or are in quarantine
// have no such turns: see first and quarantineSlot.

// noteBusy records that a lane has gained (1) or lost (-1) a task that is due.
func (pl *Planner) noteBusy(l *lane, by int) {
	q, t := l.queue, l.queue.namespace
	s := &q.bands[l.name.Priority]
	if s.busy += by; by > 0 && s.busy == 1 {
		s.pass = q.pass + stride[l.name.Priority]
	}
	if q.busy += by; by > 0 && q.busy == 1 {
		q.since = pl.picks
	}
	if t.busy += by; by > 0 && t.busy == 1 {
		t.since = pl.picks
	}
}

// served records that l has had a turn.
func (pl *Planner) served(l *lane, now task.Millis) {
	q := l.queue
	s := &q.bands[l.name.Priority]
	pl.picks++
	l.served, l.lastPick = now, pl.picks
	q.since, q.namespace.since = pl.picks, pl.picks
	if l.name.Priority.Valid() {
		q.pass = max(q.pass, s.pass)
		s.pass = q.pass + stride[l.name.Priority]
	}
}

// first returns the lane of q that is served next, or nil if there is none.
// Tasks that were run by hand go first. It changes left to what is left to q.
func (q *queue) first(left *cost) *lane {
	q.narrow(left)
	if s := q.bands[task.RunNow].lanes.first(left); s != nil {
		return s.owner
	}
	var best *priorityBand
	for p := task.High; p <= task.Low; p++ {
		s := &q.bands[p]
		if s.lanes.minCost().fit(left) && (best == nil || s.pass < best.pass) {
			best = s
		}
	}
	if best == nil {
		return nil
	}
	return best.lanes.first(left).owner
}

// narrow changes left, the slots left to q, to the slots left to each of its lanes.
func (q *queue) narrow(left *cost) {
	for c, n := range q.tried {
		if class(c).doubtful() && int32(n/3) >= left.slots[c] {
			left.slots[c] = 0
		}
	}
	if int32(q.running) >= left.slots[share] {
		left.slots[share] = 0
	}
}

// reposition places q in its namespace and in quarantine after any change of
// its lanes, limits or tokens. If q lacks a token, it sets the wake-up for the
// time of the next token.
func (pl *Planner) reposition(q *queue) {
	var next time.Duration
	need, open := *q.bands[task.RunNow].lanes.minCost(), false
	if !q.held && q.needsToken() {
		at := q.token(pl.monotonic)
		if open = at <= pl.monotonic; open {
			for p := task.High; p <= task.Low; p++ {
				need.lower(q.bands[p].lanes.minCost())
			}
		} else if at != nowhen {
			next = at
		}
	}
	closed := q.held || q.needsToken() && !open
	if q.stopped || q.full(pl.monotonic) {
		need, open, next, closed = neverFits, false, 0, true
	}
	if q.closed && !closed {
		q.opened = pl.monotonic
	}
	q.closed = closed
	for c, n := range q.tried {
		if class(c).doubtful() && need.slots[c] != never {
			need.slots[c] = max(need.slots[c], int32(n/3))
		}
	}
	if need.slots[share] != never {
		need.slots[share] = int32(q.running)
	}
	if !q.held { // the wake-up of a held queue is set for the end of the pause
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

// token returns the time of q's next token. If q has a token, the result is not
// after now.
func (q *queue) token(now time.Duration) time.Duration {
	if q.lease != nil && q.lease.rated() {
		return q.lease.token(now)
	}
	return q.bucket.next(now)
}

// full reports whether q has as many attempts under way as its limits allow.
func (q *queue) full(now time.Duration) bool {
	c := q.settings.Concurrency
	return c > 0 && (q.running >= c || q.lease != nil && q.lease.full(now))
}

// cost returns the smallest cost of a queue of t. It multiplies the share part
// by the number of queues, because divide later divides the namespace's share
// by that number.
func (t *namespace) cost() cost {
	n := *t.queues.minCost()
	if n.slots[share] != never {
		n.slots[share] = int32(min(int64(n.slots[share])*int64(t.queues.size), never-1))
	}
	return n
}

// divide changes left, the slots left to t, to the slots left to each queue of
// t. t.queues must not be empty.
func (t *namespace) divide(left *cost) {
	n := int32(t.queues.size)
	left.slots[share] = (left.slots[share] + n - 1) / n
}

// quarantined reports whether q has a lane in quarantine that could start a
// task if the quarantine slot and the limits of q allowed it.
func (q *queue) quarantined() bool { return q.bands[task.Quarantine].lanes.size > 0 }

// routine reports whether q has a ready lane, not counting tasks that were run
// by hand or are in quarantine.
func (q *queue) routine() bool {
	return q.bands[task.High].lanes.size+q.bands[task.Normal].lanes.size+q.bands[task.Low].lanes.size > 0
}

// needsToken reports whether q has a ready lane whose tasks obey the rate.
func (q *queue) needsToken() bool { return q.quarantined() || q.routine() }

// hasReady reports whether q has a lane with a due task that no destination stops.
func (q *queue) hasReady() bool { return q.needsToken() || q.bands[task.RunNow].lanes.size > 0 }

// depth limits the tasks of l that the Planner keeps, independently of the free
// room. A queue with a rate starts only a limited number of tasks during a
// window.
func (pl *Planner) depth(l *lane) int {
	switch q := l.queue; {
	case q.holds(l.name.Priority):
		return 0
	case l.destination.breaker.open, !l.destination.runs:
		return reserve
	case q.bucket.limited():
		return reserve + int(min(q.settings.Rate*pl.config.Window.Seconds(), float64(pl.config.Tasks)))
	}
	return math.MaxInt
}

// resizeLane changes how many tasks of l are kept, because its depth may have
// changed.
func (pl *Planner) resizeLane(l *lane, now task.Millis) {
	if l.queue.holds(l.name.Priority) {
		pl.countForgotten(l, l.clear())
		return
	}
	if depth := pl.depth(l); l.order.len() > depth {
		pl.countForgotten(l, l.truncate(depth))
	}
	if l.behind && pl.needsMore(l, now) {
		pl.requestRead(l, l.next())
	}
}

// wake is called when q has a token again, or when its pause ends.
func (q *queue) wake(pl *Planner, now task.Millis) { pl.refresh(q, now) }

// refresh updates q after time has passed: its pause may have ended.
func (pl *Planner) refresh(q *queue, now task.Millis) {
	if held, stopped := q.settings.Held(now), q.namespace.suspended; held != q.held || stopped != q.stopped {
		pl.hold(q, now, held, stopped)
	}
	if until := q.settings.PausedUntil; q.held && until > now {
		pl.arm(&q.wakeup, until, 0)
	}
	pl.reposition(q)
}

// hold stops q or lets it continue. Tasks of a held queue are not kept, because
// they would use the room of other queues for as long as the hold lasts. They
// are read again afterwards.
func (pl *Planner) hold(q *queue, now task.Millis, held, stopped bool) {
	if q.held && !held || q.stopped && !stopped {
		pl.needsSurvey = true
		q.namespace.round.restartSoon()
	}
	q.held, q.stopped, q.free = held, stopped, pl.monotonic
	pl.redo(&q.update, now)
}

// holds reports whether tasks of q with this priority must wait because q is
// held or its namespace is suspended.
func (q *queue) holds(p task.Priority) bool { return q.stopped || q.held && p != task.RunNow }
