package dispatch

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Destination is what is known of one host:port, as one namespace uses it.
type Destination struct {
	Namespace, Host string // host:port

	Breaker Breaker
	Until   time.Time // nothing is sent before: its breaker is open, or it asked for that; zero: nothing stands in the way

	Running   int           // attempts under way
	Waiting   int           // tasks of the window
	Overdue   int           // those of them that are due
	Oldest    time.Duration // for how long the first of them has been due
	Allowance int           // attempts that may be under way without borrowing, over its lanes
}

// Limit says what keeps the tasks of a queue waiting that are due.
type Limit string

// The limits. The first one that applies is named.
const (
	NoLimit          Limit = ""            // nothing is due, or it waits for its turn alone: it is just about to start, or in quarantine
	LimitSuspended   Limit = "suspended"   // its namespace is
	LimitPurge       Limit = "purge"       // a purge is under way
	LimitPause       Limit = "pause"       // it is paused
	LimitConcurrency Limit = "concurrency" // as many are under way as may be
	LimitRate        Limit = "rate"        // its tokens are used up
	LimitDestination Limit = "destination" // breakers, wishes of receivers, or the limit for each destination
	LimitSlots       Limit = "slots"       // the server has none left for it
)

// QueueState is what is known of one queue.
type QueueState struct {
	Namespace, Name string

	Limit   Limit
	Next    time.Time     // when Limit ends by itself: the next token, or the end of a pause; zero: not by itself, or unknown
	Running int           // attempts under way
	Waiting int           // tasks of the window; of one that is paused or purged only those that were run by hand
	Overdue int           // those of them that are due
	Oldest  time.Duration // for how long the first of them has been due
}

// Destinations returns what is known of every destination that has tasks in the
// window, or had some of late, by namespace and host. It costs some 200 ns for
// each, and some for each task that is overdue. Deliveries go on during the walk: see glance.
func (d *Dispatcher) Destinations() []Destination {
	var list []Destination
	g := d.glance()
	for _, t := range d.agenda.targets {
		if t.key.destination == "" { // of schedules
			continue
		}
		list = append(list, d.agenda.destination(t, g))
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b Destination) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Host, b.Host))
	})
	return list
}

// Queues returns what is known of every queue that has tasks in the window, or
// is held, by namespace and name. For its costs see Destinations.
func (d *Dispatcher) Queues() []QueueState {
	var list []QueueState
	g := d.glance()
	for _, q := range d.agenda.queues {
		if q.key.name == task.ScheduleQueue {
			continue
		}
		list = append(list, d.agenda.queueState(q, g))
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b QueueState) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// glance is a walk over one of the agenda's maps that holds mu only for a step at
// a time: deliveries never wait for all of it. The result is of one moment for
// each member, not for all of them. A map may change between two steps of its
// iteration: members that are gone are not met, and those that are new may be.
type glance struct {
	d    *Dispatcher
	now  time.Time
	cost int // of the present step
}

// glanceStep is the cost of one step; a unit is about 100 ns.
const glanceStep = 1000

// glance begins a walk. It returns with mu held.
func (d *Dispatcher) glance() *glance {
	d.mu.Lock()
	return &glance{d: d, now: d.lookLocked()}
}

// spent counts the steps of the walk, and lets others have mu when a step is over.
func (g *glance) spent(cost int) {
	if g.cost += cost; g.cost < glanceStep {
		return
	}
	g.cost = 0
	g.d.mu.Unlock()
	runtime.Gosched() // those that wait for mu run now, and have it
	g.d.mu.Lock()
	g.now = g.d.lookLocked()
}

// lookLocked tells the agenda what time it is, and returns what the wall clock shows.
func (d *Dispatcher) lookLocked() time.Time {
	d.agenda.tick(d.monotonic())
	return d.config.Now()
}

// wallAt returns the time of the wall clock, which shows now, at a moment of
// the other one.
func (a *agenda) wallAt(steady time.Duration, now time.Time) time.Time {
	return now.Add(steady - a.steady).Round(0)
}

func (a *agenda) destination(t *target, g *glance) Destination {
	d := Destination{
		Namespace: t.key.namespace, Host: t.key.destination,
		Breaker: t.breaker.state(a.steady), Running: t.running,
	}
	if until := t.closedUntil(); until > a.steady {
		d.Until = a.wallAt(until, g.now)
	}
	for i := 0; i < len(t.lanes); i++ { // it may change in spent
		l := t.lanes[i]
		d.Waiting += l.order.len()
		d.Allowance += l.allowance
		overdue, oldest := l.overdue(task.FloorMillis(g.now))
		d.Overdue, d.Oldest = d.Overdue+overdue, max(d.Oldest, oldest)
		g.spent(1 + overdue)
	}
	g.spent(1)
	return d
}

func (a *agenda) queueState(q *queue, g *glance) QueueState {
	s := QueueState{Namespace: q.key.namespace, Name: q.key.name, Running: q.running}
	for i := 0; i < len(q.lanes); i++ { // it may change in spent
		l := q.lanes[i]
		s.Waiting += l.order.len()
		overdue, oldest := l.overdue(task.FloorMillis(g.now))
		s.Overdue, s.Oldest = s.Overdue+overdue, max(s.Oldest, oldest)
		g.spent(1 + overdue)
	}
	g.spent(1)
	s.Limit, s.Next = a.limitOf(q, g.now)
	return s
}

// limitOf returns what keeps the tasks of q waiting, and until when.
func (a *agenda) limitOf(q *queue, now time.Time) (Limit, time.Time) {
	switch at := q.token(a.steady); {
	case q.stopped:
		return LimitSuspended, time.Time{}
	case q.settings.PurgeBefore != 0:
		return LimitPurge, time.Time{}
	case q.settings.PausedAt(task.FloorMillis(now)):
		if q.settings.PausedUntil == 0 {
			return LimitPause, time.Time{}
		}
		return LimitPause, q.settings.PausedUntil.Time()
	case q.busy == 0:
		return NoLimit, time.Time{}
	case q.full(a.steady):
		return LimitConcurrency, time.Time{}
	case (q.quarantined() || q.routine() != nobody) && at > a.steady:
		if at == nowhen {
			return LimitRate, time.Time{}
		}
		return LimitRate, a.wallAt(at, now)
	case !q.seat.seated && !q.pass.seated:
		return LimitDestination, time.Time{}
	case !a.fits(q):
		return LimitSlots, time.Time{}
	}
	return NoLimit, time.Time{}
}

// fits reports whether there is a slot for what q could start, or would be if it
// were its turn.
func (a *agenda) fits(q *queue) bool {
	left := a.left()
	return q.pass.seated && q.pass.need.fit(left) || q.seat.seated && q.seat.need.fit(q.tenant.divide(left))
}

// overdue returns how many tasks that are known of l are due, and for how long
// the first of them has been.
func (l *lane) overdue(now task.Millis) (n int, oldest time.Duration) {
	if n = l.dueBy(now, math.MaxInt); n > 0 {
		oldest = now.Sub(l.earliest())
	}
	return n, oldest
}

// dueBy returns how many tasks that are known of l are due at a moment, at most
// so many. It looks at those alone, and at their neighbours in the heap.
func (l *lane) dueBy(at task.Millis, most int) (n int) {
	items := l.order.items
	var count func(i int)
	count = func(i int) {
		if i >= len(items) || items[i].due > at || n >= most {
			return
		}
		n++
		count(2*i + 1)
		count(2*i + 2)
	}
	count(0)
	return n
}
