package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// reserve is what every lane may know of, however full the window is: lanes
	// that hang must not keep others from being read. A namespace of very many lanes
	// has leastReserve for each: otherwise it could fill the memory.
	reserve, leastReserve = 32, 4
	// farChunk and scanChunk bound one read of one lane, firstChunk the one
	// that finds out whether there is much: where a namespace calls a hundred
	// thousand hosts, most lanes have a task or two, and reads for which 512
	// are set aside are four to a Peek.
	farChunk, scanChunk, firstChunk = 512, 64, 8
	// peekChunk bounds one Peek: what it brings is taken in under the lock.
	peekChunk = 2048
)

// Planner is the near future: the waiting tasks that are known, by lane, and the
// decision which of them may be claimed. It is pure: its methods get the time as
// an argument. It names the reads that it needs and takes in what they found. It
// names the moments at which it must be called again. It is not safe for concurrent
// use.
//
// Of a lane it knows of another task only while it knows of fewer than there
// is room left: one lane alone comes to half of the window, k lanes to one part
// in k+1 each, and as much is left for the next one. A namespace may use the whole
// window while the others do not need it. It always has its share, however many
// tasks of others are known: see room. For slots see there.
type Planner struct {
	config    Config
	settings  *task.Settings
	monotonic time.Duration // now, by the clock that never steps: the argument of the last Tick
	away      time.Duration // when the store last gave no answer to a claim or settlement

	lanes        map[task.Lane]*lane
	queues       map[queueKey]*queue
	destinations map[destinationKey]*destination
	broken       int               // of them, with a breaker that is not closed
	changes      []BreakerChange   // breakers that opened or closed, to be logged
	taken        map[task.Key]bool // picked, and a read may still see it waiting; true: its claim was answered
	number       uint64
	seq          uint64      // counts changes of knowledge
	total        int         // tasks known
	checked      task.Millis // when rounds were begun last

	slots       slots
	quarantine  quarantineSlot
	startable   waitTree[*namespace] // that may start something
	namespaces  map[string]*namespace
	turn        uint64        // counts picks
	holders     int           // those of them with known tasks
	readTurns   []*namespace  // that have lanes which want to be read, in turns
	rounds      []*namespace  // with a survey under way, in turns: see round
	polls       uint64        // counts BeginRounds
	updates     []*laneUpdate // that are not done, in turns
	pieces      int           // lanes of a piece
	needsSurvey bool          // a survey is wanted: there are lanes that nothing was to be known of
	dirty       []*Wakeup     // with a changed moment
	heard       []heard       // hints of unknown tasks in lanes that are being read

	firing []*lane      // of schedules that are due, or were
	ended  []*namespace // that have schedules which may wait for an end, in turns

	pending  []*LimitLease // want to ask
	asking   int           // leases whose request is under way
	needSlot []*LimitLease // would ask, and there is no slot
	stopping bool          // nothing starts any more
}

// Config says how a Planner works.
type Config struct {
	Window     time.Duration // how far ahead tasks are read
	Tasks      int           // about how many tasks may be known
	BreakAfter int           // failures in a row that open a breaker; 0: none does
	BreakMost  time.Duration // the longest wait of a breaker
	Shared     bool          // limits hold over many nodes: see LimitLease
}

// New returns a Planner that knows of no task. At most slots attempts may be under
// way. Tick and Configure must be called before anything else.
func New(c Config, slots int) *Planner {
	pl := &Planner{
		config: c, pieces: pieceLanes, slots: newSlots(slots), settings: none,
		lanes: map[task.Lane]*lane{}, queues: map[queueKey]*queue{}, destinations: map[destinationKey]*destination{},
		namespaces: map[string]*namespace{}, taken: map[task.Key]bool{},
	}
	pl.quarantine.wakeup.owner = &pl.quarantine
	return pl
}

// Tick sets the time of the clock that never steps. Durations count by that clock,
// due times by the wall clock. It must be called before each group of other calls.
func (pl *Planner) Tick(steady time.Duration) { pl.monotonic = steady }

// Hint takes in what a store has notified of a task: that it waits, or waits for
// another time than before, or that an occurrence of a schedule has ended.
func (pl *Planner) Hint(now task.Millis, e task.Entry) {
	if e.Hint == task.OccurrenceEnded {
		pl.endedOne(e)
		return
	}
	pl.seq++
	l := pl.lanes[e.Lane]
	if e.Due > now.Add(pl.config.Window) {
		if l != nil && l.known[e.Name] != nil { // moved away: it will be read when it comes near
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
	pl.learn(l, e, pl.seq)
	pl.place(l, now)
	pl.remind(l, e)
}

// Offer is like Hint, but does nothing if the task is already known.
func (pl *Planner) Offer(now task.Millis, e task.Entry) {
	if l := pl.lanes[e.Lane]; l == nil || l.known[e.Name] == nil {
		pl.Hint(now, e)
	}
}

// learn takes in an entry that was true as of seq, and reports whether it is
// news. The caller places the lane.
func (pl *Planner) learn(l *lane, e task.Entry, seq uint64) bool {
	if it := l.known[e.Name]; it != nil {
		return pl.correct(l, it, e.Due, seq)
	}
	if l.left(e.Position()) || pl.depth(l) == 0 {
		return false
	}
	if pl.room(l) < 1 {
		pl.gone(l, l.shed((l.order.len()+1)/2))
		if l.left(e.Position()) {
			return false
		}
	}
	it := &item{name: e.Name, due: e.Due, seq: seq}
	l.known[e.Name] = it
	l.order.push(it)
	pl.learnt(l)
	return true
}

// correct moves a task that is known to another time.
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
	pl.gone(l, 1)
}

// learnt counts one more task of l.
func (pl *Planner) learnt(l *lane) {
	t := l.queue.namespace
	if t.known == 0 {
		pl.holders++
	}
	t.known++
	pl.total++
}

// gone notes that n tasks of l are not known any more.
func (pl *Planner) gone(l *lane, n int) {
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

// room returns how many more tasks l may know of.
//
// A namespace that holds more than its share gives way by attrition: it learns
// nothing new until enough of its tasks have started. Until then the others take
// their shares, so for a while up to twice the window may be known.
func (pl *Planner) room(l *lane) int {
	n, depth := l.order.len(), pl.depth(l)
	if depth == 0 {
		return 0
	}
	t := l.queue.namespace
	free := max(pl.config.Tasks-pl.total, pl.config.Tasks/max(pl.holders, 1)-t.known)
	return max(min((free-n)/2, depth-n), t.reserve(pl.config.Tasks)-n, 0)
}
