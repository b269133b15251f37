package planner

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

const (
	// Every lane is allowed to keep reserve tasks, even if the window is full.
	// Otherwise lanes of hanging receivers would stop the reads of all other
	// lanes. In a namespace with very many lanes, each lane keeps only
	// leastReserve tasks, because the lanes could otherwise fill the memory.
	reserve, leastReserve = 32, 4
	// farChunk and scanChunk bound one read of one lane. firstChunk bounds the
	// read that finds out whether the lane has many tasks. If a namespace calls
	// a hundred thousand hosts, most lanes have one or two tasks. If the first
	// read took 512 tasks, one Peek would serve only four lanes.
	farChunk, scanChunk, firstChunk = 512, 64, 8
	// peekChunk bounds one Peek, because its result is handled under the lock.
	peekChunk = 2048
)

// Planner holds the near future: the waiting tasks it knows, by lane. It
// decides which of them can be claimed. It is pure: its methods get the time as
// an argument. It returns the reads it needs and the times of its next calls,
// and it takes the results of the reads. It is not safe for concurrent use.
//
// A lane accepts a task only while it has fewer tasks than the window has free
// places. So one lane uses at most half of the window. If k lanes are full,
// each uses 1/(k+1) of the window, and 1/(k+1) stays free for the next lane. A
// namespace can use the whole window while the other namespaces do not need it.
// It always has its share, regardless of the tasks of the other namespaces: see
// room. The type slots describes the use of slots.
type Planner struct {
	config        Config
	settings      *settings.Settings
	monotonic     time.Duration // the time of the monotonic clock at the last Tick
	storeFailedAt time.Duration // when the store last failed to reply to a claim or a settlement

	lanes        map[task.Lane]*lane
	queues       map[queueKey]*queue
	destinations map[destinationKey]*destination
	kinds        map[string]*kind
	broken       int             // number of destinations with a breaker that is not closed
	changes      []BreakerChange // to be logged
	// taken holds picked tasks. A read can still report them as waiting. The
	// value becomes true when the store has answered the claim.
	taken   map[task.Key]bool
	number  uint64
	seq     uint64      // counts changes of the known tasks
	total   int         // number of known tasks
	checked task.Millis // when rounds were begun last

	slots            slots
	short            bool          // when it last looked, no ready lane had a slot
	slotSince        time.Duration // when a ready lane had a slot again
	quarantine       quarantineSlot
	startable        waitTree[*namespace] // namespaces that can start a task
	namespaces       map[string]*namespace
	picks            uint64        // number of picks so far
	holders          int           // number of namespaces with known tasks
	namespacesToRead []*namespace  // namespaces with lanes to read, in round-robin order
	rounds           []*namespace  // namespaces with a survey under way, in round-robin order: see round
	polls            uint64        // counts BeginRounds
	updates          []*laneUpdate // unfinished updates, in round-robin order
	pieces           int           // number of lanes in one piece
	needsSurvey      bool          // a survey is needed: lanes that were held can be read again
	dirty            []*Wakeup     // wakeups whose moment has changed
	keptHints        []keptHint    // hints of unknown tasks in lanes that are being read

	firing []*lane      // lanes of schedules that are or were due
	ended  []*namespace // namespaces of schedules that may wait for an ended occurrence, in round-robin order

	pending  []*LimitLease // leases whose request is sent next
	asking   int           // number of leases with a request under way
	needSlot []*LimitLease // leases that request permits when a slot becomes free
	stopping bool          // no more tasks start
}

// Config configures a Planner.
type Config struct {
	Window     time.Duration // how far ahead tasks are read
	Tasks      int           // about how many tasks are kept at most
	BreakAfter int           // failures in a row that open a breaker; zero means that breakers never open
	BreakMost  time.Duration // the longest wait of a breaker
	Shared     bool          // nodes share the limits: see LimitLease

	Handlers int // the maximum number of handlers that run at once

	// Kinds has the kinds for which this process has handlers. Each has the
	// maximum number of its tasks that run at once, or zero for no limit except
	// Handlers. At most MaxLimitedKinds can have a limit. Tasks of other kinds
	// wait, and so do those of other namespaces than KindsOf, unless it is empty.
	Kinds   map[string]int
	KindsOf string
}

// New returns a Planner without tasks. At most slots requests are under way at a
// time. If slots is 0, this process sends no requests. At most c.Handlers
// handlers run at a time. Tick and Configure must be called before all other
// methods.
func New(c Config, slots int) *Planner {
	pl := &Planner{
		config: c, pieces: pieceLanes, slots: newSlots(slots, c.Handlers), settings: none, kinds: newKinds(c.Kinds),
		lanes: map[task.Lane]*lane{}, queues: map[queueKey]*queue{}, destinations: map[destinationKey]*destination{},
		namespaces: map[string]*namespace{}, taken: map[task.Key]bool{},
	}
	pl.quarantine.wakeup.owner = &pl.quarantine
	return pl
}

// Tick sets the time of the monotonic clock. Durations are measured on that
// clock. Due times are times of the wall clock. Tick must be called before each
// group of other calls.
func (pl *Planner) Tick(monotonic time.Duration) { pl.monotonic = monotonic }

// Hint applies a notice of the store: a task waits, or waits for another time
// than before, or an occurrence of a schedule has ended.
func (pl *Planner) Hint(now task.Millis, e task.Entry) {
	if e.Hint == task.OccurrenceEnded {
		pl.endedOne(e)
		return
	}
	pl.seq++
	l := pl.lanes[e.Lane]
	if e.Due > now.Add(pl.config.Window) {
		if l != nil && l.known[e.Name] != nil { // postponed: it will be read when its time comes near
			pl.forget(l, l.known[e.Name])
			pl.place(l, now)
		}
		return
	}
	if l == nil {
		l = pl.open(e.Lane, now)
	}
	if l == nil {
		return
	}
	pl.applyEntry(l, e, pl.seq)
	pl.place(l, now)
	pl.keepHint(l, e)
}

// Offer is like Hint, but does nothing if the task is already known.
func (pl *Planner) Offer(now task.Millis, e task.Entry) {
	if l := pl.lanes[e.Lane]; l == nil || l.known[e.Name] == nil {
		pl.Hint(now, e)
	}
}

// applyEntry applies an entry that was read or hinted at seq. It reports
// whether the known tasks changed. The caller must place the lane.
func (pl *Planner) applyEntry(l *lane, e task.Entry, seq uint64) bool {
	if it := l.known[e.Name]; it != nil {
		return pl.correct(l, it, e.Due, seq)
	}
	if l.left(e.Position()) || pl.depth(l) == 0 {
		return false
	}
	if pl.room(l) < 1 {
		pl.countForgotten(l, l.truncate((l.order.len()+1)/2))
		if l.left(e.Position()) {
			return false
		}
	}
	it := &item{name: e.Name, due: e.Due, seq: seq}
	l.known[e.Name] = it
	l.order.push(it)
	pl.countKnown(l)
	return true
}

// correct changes the due time of a known task.
func (pl *Planner) correct(l *lane, it *item, due task.Millis, seq uint64) bool {
	if it.seq > seq {
		return false
	}
	it.seq = seq
	if it.due == due {
		return false
	}
	it.due = due
	if l.left(it.position()) {
		pl.forget(l, it)
		return true
	}
	l.order.fix(it)
	return true
}

func (pl *Planner) forget(l *lane, it *item) {
	l.order.remove(it)
	delete(l.known, it.name)
	pl.countForgotten(l, 1)
}

// countKnown counts one more task of l.
func (pl *Planner) countKnown(l *lane) {
	t := l.queue.namespace
	if t.known == 0 {
		pl.holders++
	}
	t.known++
	pl.total++
}

// countForgotten counts n tasks of l that are no longer known.
func (pl *Planner) countForgotten(l *lane, n int) {
	if n == 0 {
		return
	}
	t := l.queue.namespace
	t.known -= n
	pl.total -= n
	if t.known == 0 {
		pl.holders--
	}
}

// room returns how many more tasks l is allowed to keep.
//
// While the window is full, a namespace above its share keeps no new tasks
// beyond the reserve of its lanes, until enough of its tasks have started.
// During that time the other namespaces fill their shares. So for a while the
// Planner can hold up to twice the window.
func (pl *Planner) room(l *lane) int {
	n, depth := l.order.len(), pl.depth(l)
	if depth == 0 {
		return 0
	}
	t := l.queue.namespace
	free := max(pl.config.Tasks-pl.total, pl.config.Tasks/max(pl.holders, 1)-t.known)
	return max(min((free-n)/2, depth-n), t.reserve(pl.config.Tasks)-n, 0)
}
