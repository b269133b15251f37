package dispatch

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/wheel"
)

// Deliver makes one attempt and returns how it ended. It is called by many
// goroutines, and must enforce the task's timeout itself. Soon after the end of
// ctx it must return: Unsent if nothing was written, or Interrupted if the
// receiver may have begun its work. Only a handler may take longer: see Run. A
// panic in it ends the process, so the task is reclaimed, and after
// task.MaxReclaims of these it is dead.
//
// In a server, webhook.Sender.Deliver implements it, and connect in
// internal/server passes it to engine.Node.Connect. In a program, Node.deliver
// in run.go implements it.
type Deliver func(ctx context.Context, d task.Delivery) task.Outcome

// The errors of Delivery.Live, and the causes with which an attempt's context
// ends.
var (
	// ErrStopped means that the server is stopping, and its grace period is
	// over.
	ErrStopped = errors.New("the server is stopping")
	// ErrLeaseLost means that the attempt's lease has ended, or is about to end
	// and could not be extended.
	ErrLeaseLost = errors.New("the attempt lost its lease")
	// errPermitLost means that this node's lease of a shared limit has ended
	// and could not be renewed.
	errPermitLost = errors.New("this node lost its share of the queue's limit")
	// errHeld means that the queue was paused or is being purged, or the
	// namespace was suspended, after the task was claimed and before its
	// attempt began.
	errHeld = errors.New("the queue or its namespace was stopped")
	// ErrCancelled means that the task of a kind was cancelled during the
	// attempt. Attempts that send a request continue, because a request cannot
	// be taken back.
	ErrCancelled = errors.New("the task was cancelled")
	// errQuarantineTurn means that the task is in quarantine, and another one
	// waits for its turn.
	errQuarantineTurn = errors.New("another task in quarantine waits for its turn")
)

// Dispatcher delivers the tasks of a store. Run starts its goroutines, stops
// them and waits for them.
type Dispatcher struct {
	config  Config
	queue   store.DispatchStore // in a node wrapped in notifying of engine/node.go, which tells the API of settled tasks
	deliver Deliver
	clock   *monotonicClock // read by monotonic

	unwatchPermits func() // set by requestPermits, called by returnPermits

	// Both wheels run their callbacks inline, which hold mu for a moment or
	// take no lock.
	timers *wheel.Wheel[*planner.Wakeup] // the planner's wake-ups
	leases *wheel.Wheel[*attempt]        // attempts, at the last moment of their lease

	wake     chan struct{}                     // to the claimer: a task might be ready to claim
	fires    chan struct{}                     // to the firer: a schedule is due
	refills  chan struct{}                     // to the poller: a lane has room for more tasks
	surveys  chan struct{}                     // to the poller: a resumed queue has not been read yet
	asks     chan struct{}                     // to the permit requesters: a part of a limit must be requested
	renewals chan struct{}                     // to the renewer: an attempt has renewNow
	quiet    chan struct{}                     // to returnPermits: no such request is left
	outcomes chan *attempt                     // to the settler: has room for every slot and for the nil that ends the settler, so a send never blocks
	running  sync.WaitGroup                    // the goroutines of attempts
	starting chan *attempt                     // to a goroutine that has ended its attempt and waits for the next one
	waiting  atomic.Int32                      // such goroutines
	backlog  backlog                           // the claimer writes it, the settler reads it too
	several  atomic.Bool                       // several namespaces are known; update writes it under mu, the claimer and the settler read it
	settings atomic.Pointer[settings.Settings] // in force; Configure writes it, attempts read it without a lock

	// mu guards all fields below. It is taken before a wheel's locks, and is
	// never held during a call of the store.
	mu      sync.Mutex
	planner *planner.Planner
	held    map[*attempt]struct{} // claimed and not settled
	count   counters
	started bool
	failed  error              // why Run must end before its context does
	stop    context.CancelFunc // ends all claims; set by Run
}

// New returns a Dispatcher, which does nothing before Run.
func New(config Config, queue store.DispatchStore, deliver Deliver) *Dispatcher {
	c := config.withDefaults()
	d := &Dispatcher{
		config: c, queue: queue, deliver: deliver, clock: newMonotonicClock(),
		wake:     make(chan struct{}, 1),
		fires:    make(chan struct{}, 1),
		refills:  make(chan struct{}, 1),
		surveys:  make(chan struct{}, 1),
		asks:     make(chan struct{}, 1),
		renewals: make(chan struct{}, 1),
		quiet:    make(chan struct{}, 1),
		outcomes: make(chan *attempt, c.Slots+c.Handlers+1),
		starting: make(chan *attempt),
		planner: planner.New(planner.Config{
			Window: c.Window, Tasks: c.WindowTasks,
			BreakAfter: max(c.BreakerFailures, 0), BreakMost: c.BreakerMax,
			Shared: c.Permits != nil, Kinds: c.Kinds, KindsOf: c.KindsOf, Slots: c.Slots, Handlers: c.Handlers,
		}),
		held:  map[*attempt]struct{}{},
		count: counters{Stats: Stats{Skipped: map[string]uint64{}}},
	}
	d.Configure(c.Settings)
	inline := wheel.Config{Shards: 1, Run: wheel.Inline}
	d.timers = wheel.NewBatch(inline, func(fired []wheel.Expired[*planner.Wakeup]) {
		d.update(func(now task.Millis) {
			for _, e := range fired {
				d.planner.Wake(e.Value, now)
			}
		})
	})
	d.leases = wheel.New(inline, func(a *attempt) { a.cancel(ErrLeaseLost) })
	return d
}

// Stats returns the counts since New. It costs a few microseconds, and some
// nanoseconds for each attempt under way.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.count.stats()
	s.Running = len(d.held)
	if d.config.Handlers > 0 {
		for a := range d.held {
			if a.hung && !a.over.Load() {
				s.Hanging++
			}
		}
	}
	s.Known, s.Lanes, s.Breakers = d.planner.Size()
	return s
}

// Slots returns how many attempts can be under way: requests and handlers.
func (d *Dispatcher) Slots() int { return d.config.Slots + d.config.Handlers }

// Configure applies settings at once. s comes from a store.SettingsStore, or is
// nil. After Configure has returned, no attempt that s holds begins, even if
// its task was claimed before. The cost is O(known queues).
func (d *Dispatcher) Configure(s *settings.Settings) {
	if s == nil {
		s = settings.NewSettings()
	}
	d.settings.Store(s)
	d.update(func(now task.Millis) { d.planner.Configure(now, s) })
}

// update calls change with the planner's lock held, and wakes the goroutines
// that have work after it.
func (d *Dispatcher) update(change func(now task.Millis)) {
	d.mu.Lock()
	monotonic := d.monotonic()
	d.planner.Tick(monotonic)
	clock := d.config.Now()
	change(task.FloorMillis(clock))
	effects := d.planner.Refresh(task.FloorMillis(clock))
	d.armLocked(effects.Wakeups, clock, monotonic)
	if effects.Interrupt {
		for a := range d.held {
			if a.Lane().Priority == task.Quarantine {
				a.cancel(errQuarantineTurn)
			}
		}
	}
	d.several.Store(effects.Several)
	d.mu.Unlock()
	d.logBreakers(effects.Breakers)
	signalIf(effects.Survey, d.surveys)
	signalIf(effects.Claim, d.wake)
	signalIf(effects.Fire, d.fires)
	signalIf(effects.Refill, d.refills)
	signalIf(effects.Permits, d.asks)
}

// armLocked sets the timers of wake-ups after their moment has changed. The
// wait for a moment of the wall clock is a difference of that clock's times.
// After a step of the clock such a timer is wrong, until the planner wakes
// or the poll notices that and sets it again.
func (d *Dispatcher) armLocked(changed []*planner.Wakeup, clock time.Time, monotonic time.Duration) {
	for _, w := range changed {
		if !w.IsSet() {
			d.timers.Remove(wheel.ID(w.Timer))
			continue
		}
		wait := w.Monotonic - monotonic
		if w.Wall != 0 {
			wait = w.Wall.Time().Sub(clock)
		}
		if !d.timers.Reset(wheel.ID(w.Timer), wait) {
			id, _ := d.timers.Add(wait, w) // no limit, and closed after the last attempt
			w.Timer = uint64(id)
		}
	}
}

// hint is called by the store when tasks were created, moved or returned, and
// with notices.
func (d *Dispatcher) hint(entries []task.Entry) {
	d.update(func(now task.Millis) {
		for _, e := range entries {
			if e.Hint == task.CancelRequested {
				d.renewNowLocked(e.Key())
				continue
			}
			d.planner.Hint(now, e)
		}
	})
}

// renewNowLocked makes the renewer extend the lease of a handler at once, if
// this process runs the task. If the store replies that the task was cancelled,
// the renewer ends the handler's context. The notice alone does not end it,
// because a program of another store could have sent it. The cost is O(attempts
// under way). If the notice is lost, or comes before launch has recorded the
// attempt, the next regular extension has the same effect. d.mu must be held.
func (d *Dispatcher) renewNowLocked(k task.Key) {
	for a := range d.held {
		if a.Key == k && a.runsHandler() && !a.over.Load() {
			a.renewNow = true
			signal(d.renewals)
		}
	}
}

// now returns the time of the wall clock, and tasks due by then can be claimed.
func (d *Dispatcher) now() task.Millis { return task.FloorMillis(d.config.Now()) }

// trusted returns the time for steps that cannot be undone, such as expiry.
func (d *Dispatcher) trusted() task.Millis { return task.FloorMillis(d.config.Trusted()) }

// monotonic returns the time since New on the monotonic clock.
func (d *Dispatcher) monotonic() time.Duration { return d.clock.now() }

func (d *Dispatcher) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// signal wakes the one goroutine that receives from c, now or when it next
// waits.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func signalIf(has bool, c chan<- struct{}) {
	if has {
		signal(c)
	}
}

// logBreakers logs breakers that opened or closed.
func (d *Dispatcher) logBreakers(changes []planner.BreakerChange) {
	for _, c := range changes {
		attrs, reason := []any{"namespace", c.Namespace, "destination", c.Destination}, breakerReason(c.Cause)
		if c.Open {
			attrs = append(attrs, "failures", c.Failures, "next_try_in", c.Rest.Round(time.Millisecond).String())
			d.config.Logger.Warn("breaker opened", append(attrs, reason...)...)
		} else {
			attrs = append(attrs, "open_for", c.Lasted.Round(time.Millisecond).String())
			d.config.Logger.Info("breaker closed", append(attrs, reason...)...)
		}
	}
}

// breakerReason returns the attributes with the reason for a breaker's change.
// cause is the end of the attempt that changed it, or nil.
func breakerReason(cause *task.Outcome) []any {
	if cause == nil {
		return []any{"reason", "no task waits for this destination, so its state was removed"}
	}
	attrs := []any{"reason", cmp.Or(cause.Error, "the receiver replied"), "status", cause.Status}
	if cause.Detail != "" {
		attrs = append(attrs, "detail", cause.Detail)
	}
	return attrs
}
