package planner

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

const (
	// reserve is the number of tasks that every lane may keep, however full the
	// window is: lanes of receivers that hang must not stop the reads of other
	// lanes. A namespace with very many lanes has leastReserve for each, as it
	// could otherwise fill the memory.
	reserve, leastReserve = 32, 4
	// farChunk and scanChunk bound one read of one lane. firstChunk bounds the
	// read that finds out whether the lane has many tasks. If a namespace calls
	// a hundred thousand hosts, most lanes have one or two tasks. Reads of 512
	// tasks would then fit only four to a Peek.
	farChunk, scanChunk, firstChunk = 512, 64, 8
	// peekChunk bounds one Peek, because its result is handled under the lock.
	peekChunk = 2048
)

// Planner holds the near future: the waiting tasks it knows, by lane. It
// decides which of them may be claimed. It is pure: its methods get the time as
// an argument. It names the reads that it needs and absorbs their results. It
// names the moments at which it must be called again. It is not safe for
// concurrent use.
//
// A lane keeps another task only while it has fewer tasks than there is room
// left. So a single lane uses at most half of the window, and k lanes use one
// part in k+1 each, which leaves as much for the next lane. A namespace may use
// the whole window while the other namespaces do not need it. It always has its
// share, however many tasks the others have: see room. For the use of slots see
// slots.
type Planner struct {
	config    Config
	settings  *settings.Settings
	monotonic time.Duration // now by the monotonic clock: the argument of the last Tick
	away      time.Duration // when the store last failed to reply to a claim or a settlement

	lanes        map[task.Lane]*lane
	queues       map[queueKey]*queue
	destinations map[destinationKey]*destination
	broken       int             // number of destinations with a breaker that is not closed
	changes      []BreakerChange // to be logged
	// taken holds picked tasks that a read may still see waiting; true: the
	// claim was answered.
	taken   map[task.Key]bool
	number  uint64
	seq     uint64      // counts changes of the known tasks
	total   int         // number of known tasks
	checked task.Millis // when rounds were begun last

	slots            slots
	quarantine       quarantineSlot
	startable        waitTree[*namespace] // namespaces that may start a task
	namespaces       map[string]*namespace
	picks            uint64        // number of picks so far
	holders          int           // number of namespaces with known tasks
	namespacesToRead []*namespace  // namespaces with lanes to read, in turns
	rounds           []*namespace  // namespaces with a survey under way, in turns: see round
	polls            uint64        // counts BeginRounds
	updates          []*laneUpdate // unfinished updates, in turns
	pieces           int           // number of lanes in one piece
	needsSurvey      bool          // a survey is needed: lanes that were held may be read again
	dirty            []*Wakeup     // wakeups whose moment has changed
	keptHints        []keptHint    // hints of unknown tasks in lanes that are being read

	firing []*lane      // lanes of schedules that are or were due
	ended  []*namespace // namespaces of schedules that may wait for the end of an occurrence, in turns

	pending  []*LimitLease // leases that are about to ask
	asking   int           // number of leases with a request under way
	needSlot []*LimitLease // leases that would ask if there were a slot
	stopping bool          // no more tasks start
}

// Config configures a Planner.
type Config struct {
	Window     time.Duration // how far ahead tasks are read
	Tasks      int           // about how many tasks may be kept
	BreakAfter int           // failures in a row that open a breaker; 0: breakers never open
	BreakMost  time.Duration // the longest wait of a breaker
	Shared     bool          // nodes share the limits: see LimitLease
}

// New returns a Planner without tasks. At most slots attempts may be under way.
// Tick and Configure must be called before all other methods.
func New(c Config, slots int) *Planner {
	pl := &Planner{
		config: c, pieces: pieceLanes, slots: newSlots(slots), settings: none,
		lanes: map[task.Lane]*lane{}, queues: map[queueKey]*queue{}, destinations: map[destinationKey]*destination{},
		namespaces: map[string]*namespace{}, taken: map[task.Key]bool{},
	}
	pl.quarantine.wakeup.owner = &pl.quarantine
	return pl
}

// Tick sets the time of the monotonic clock. Durations count by that clock, due
// times by the wall clock. Tick must be called before each group of other
// calls.
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

// applyEntry applies an entry that was true as of seq. It reports whether that
// changed anything. The caller must place the lane.
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

// room returns how many more tasks l may keep.
//
// If a namespace has more than its share, it keeps no new tasks until enough of
// its tasks have started. Until then the other namespaces take their shares, so
// for a while up to twice the window may be known.
func (pl *Planner) room(l *lane) int {
	n, depth := l.order.len(), pl.depth(l)
	if depth == 0 {
		return 0
	}
	t := l.queue.namespace
	free := max(pl.config.Tasks-pl.total, pl.config.Tasks/max(pl.holders, 1)-t.known)
	return max(min((free-n)/2, depth-n), t.reserve(pl.config.Tasks)-n, 0)
}
