package planner

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Planner holds the near future: the waiting tasks it knows, by lane, and decides
// which of them can be claimed. It is pure: its methods get the time as an
// argument. It is not safe for concurrent use.
type Planner struct {
	config        Config
	settings      *settings.Settings
	monotonic     time.Duration // the time of the monotonic clock at the last Tick
	storeFailedAt time.Duration // when the store last failed to reply to a claim or a settlement

	choose chooser
	window window
	limits limits

	lanes        map[task.Lane]*lane
	queues       map[queueKey]*queue
	destinations map[destinationKey]*destination
	namespaces   map[string]*namespace
	kinds        map[string]*kind
	number       uint64 // the last number of a lane, queue, destination or namespace

	lanesChanged  []*lane   // for refresh
	queuesChanged []*queue  // for refresh
	slotFreed     bool      // for refresh: an attempt has ended
	updates       []*update // unfinished updates, in round-robin order
	pieces        int       // number of lanes in one piece
	wakeups       []*Wakeup // for effects: those with a changed moment

	firing []*lane      // lanes of schedules that are or were due
	ended  []*namespace // namespaces of schedules that may wait for an ended occurrence, in round-robin order
}

// Config configures a Planner.
type Config struct {
	Window     time.Duration // how far ahead tasks are read
	Tasks      int           // about how many tasks are kept at most
	BreakAfter int           // failures in a row that open a breaker; zero means that breakers never open
	BreakMost  time.Duration // the longest wait of a breaker
	Shared     bool          // nodes share the limits: see LimitLease

	// Slots is the maximum number of requests that are under way at once. If it
	// is 0, this node sends no requests. Handlers is the maximum number of
	// attempts of handlers that are under way at once.
	Slots, Handlers int

	// Kinds has the kinds for which this node has handlers. Each has the
	// maximum number of its tasks that run at once, or zero for no limit except
	// Handlers. At most MaxLimitedKinds can have a limit. Tasks of other kinds
	// wait. If KindsOf is not empty, tasks of kinds in other namespaces wait
	// too.
	Kinds   map[string]int
	KindsOf string
}

// none are the settings in force if there are none.
var none = settings.NewSettings()

// New returns a Planner without tasks. Tick and Configure must be called before
// all other methods.
func New(c Config) *Planner {
	return &Planner{
		config: c, settings: none, kinds: newKinds(c.Kinds), pieces: pieceLanes,
		choose: chooser{slots: newSlots(c.Slots, c.Handlers)},
		window: window{span: c.Window, tasks: c.Tasks, taken: map[task.Key]bool{}},
		limits: limits{shared: c.Shared, breakAfter: c.BreakAfter, breakMost: c.BreakMost},
		lanes:  map[task.Lane]*lane{}, queues: map[queueKey]*queue{}, destinations: map[destinationKey]*destination{},
		namespaces: map[string]*namespace{},
	}
}

// Tick sets the time of the monotonic clock. Durations are measured on that
// clock, while due times are times of the wall clock. Tick must be called before
// each group of other calls.
func (pl *Planner) Tick(monotonic time.Duration) { pl.monotonic = monotonic }

// Configure applies settings, or none if s is nil. The cost is O(known queues),
// because the lanes of a changed queue are updated later, in pieces.
func (pl *Planner) Configure(now task.Millis, s *settings.Settings) {
	if s == nil {
		s = none
	}
	pl.settings = s
	for name, n := range pl.namespaces {
		n.suspended = s.Suspended(name)
	}
	for key, q := range pl.queues {
		old, next := q.settings, s.Queue(key.namespace, key.name)
		if next == old && q.stopped == q.namespace.suspended {
			continue
		}
		q.settings = next
		if old.Rate != next.Rate || old.BurstOrDefault() != next.BurstOrDefault() {
			q.bucket.configure(next, pl.monotonic)
		}
		pl.leaseLimits(q)
		pl.checkHold(q, now)
		pl.markAll(&q.update)
	}
}

// Hint applies a notice of the store. A notice says that a task waits, that its
// due time changed, or that an occurrence of a schedule ended.
func (pl *Planner) Hint(now task.Millis, e task.Entry) {
	if e.Hint == task.OccurrenceEnded {
		pl.occurrenceEnded(e)
		return
	}
	pl.window.seq++
	if e.Due > now.Add(pl.window.span) {
		if l := pl.lanes[e.Lane]; l != nil && l.known[e.Name] != nil { // postponed: it will be read when its time comes near
			pl.window.forget(l, l.known[e.Name])
			pl.mark(l, false)
		}
		return
	}
	if l := pl.laneOf(e.Lane, now); l != nil {
		pl.window.hint(l, e)
		pl.mark(l, false)
	}
}

// Offer is like Hint, but does nothing if the task is already known.
func (pl *Planner) Offer(now task.Millis, e task.Entry) {
	if l := pl.lanes[e.Lane]; l == nil || l.known[e.Name] == nil {
		pl.Hint(now, e)
	}
}

// Busy reports whether a survey or an update of many lanes is under way.
func (pl *Planner) Busy() bool { return len(pl.window.rounds)+len(pl.updates) > 0 }

// Size returns the number of known tasks and lanes, and of breakers that are
// open or half-open.
func (pl *Planner) Size() (tasks, lanes, broken int) {
	return pl.window.total, len(pl.lanes), pl.limits.broken
}

// StoreAway records that the store, or a shard of it, did not reply. Until now
// the store may have delayed the tasks, so delayedFor does not attribute that
// time to the receiver.
func (pl *Planner) StoreAway() { pl.storeFailedAt = pl.monotonic }
