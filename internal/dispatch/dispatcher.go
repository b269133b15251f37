package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/wheel"
)

// Deliver makes one attempt and says how it ended. It is called by many
// goroutines and enforces the task's timeout itself. Soon after ctx has ended
// it must return: Unsent if nothing was written, Interrupted if the receiver
// may have been at work. A panic in it ends the process: its task is reclaimed,
// and dead after task.MaxReclaims of them.
type Deliver func(ctx context.Context, d task.Delivery) task.Outcome

// What Delivery.Live returns, and the causes for which an attempt's context ends.
var (
	// ErrStopped: the server stops, and its grace is over.
	ErrStopped = errors.New("the server is stopping")
	// ErrLeaseLost: the attempt's lease has ended, or is about to and could
	// not be extended.
	ErrLeaseLost = errors.New("the lease of the attempt is lost")
	// ErrPermitLost: the lease has ended of this node's part of a limit that nodes
	// share, and could not be renewed.
	ErrPermitLost = errors.New("this node's part of its queue's limit is lost")
	// ErrQuarantineTurn: the task is in quarantine, and others wait for their turn there.
	ErrQuarantineTurn = errors.New("others in quarantine wait for their turn")
)

// Dispatcher delivers the tasks of a queue. Its goroutines are Run's, which
// ends them and waits for them.
type Dispatcher struct {
	config  Config
	queue   task.Queue
	deliver Deliver
	clock   *monotonicClock // monotonic's
	logs    sparseLog
	skips   skips

	// Both wheels fire inline: their callbacks take mu, or none, for a moment.
	timers *wheel.Wheel[*planner.Wakeup] // for what waits for a moment
	leases *wheel.Wheel[*attempt]        // for attempts, at the last moment of their lease

	wake     chan struct{} // to the claimer: there may be something to claim
	fires    chan struct{} // to the firer: a schedule is due
	refills  chan struct{} // to the poller: a lane has room for more
	surveys  chan struct{} // to the poller: a resumed queue has not been read yet
	asks     chan struct{} // to the permit requesters: a part of a limit must be requested
	asked    chan struct{} // to seeOut: no such request is left
	outcomes chan *attempt // to the settler: has room for every slot, so sending never blocks
	running  sync.WaitGroup
	several  atomic.Bool // tasks of several namespaces are known; the claimer writes it, the settler reads it

	mu      sync.Mutex // guards everything below; before a wheel's locks, never during a call of the store
	planner *planner.Planner
	held    map[*attempt]struct{} // claimed and not settled
	count   counters
	started bool
	failed  error              // why Run has to end before its context does
	stop    context.CancelFunc // no more claims; set by Run
}

// New returns a Dispatcher. Nothing happens before Run.
func New(config Config, queue task.Queue, deliver Deliver) *Dispatcher {
	c := config.withDefaults()
	if c.Scrubber == nil {
		c.Scrubber, _ = queue.(task.Scrubber)
	}
	if c.Permits == nil {
		c.Permits, _ = queue.(task.Permits)
	}
	if c.Permits != nil && !c.Permits.Shared() {
		c.Permits = nil
	}
	d := &Dispatcher{
		config: c, queue: queue, deliver: deliver, clock: newMonotonicClock(),
		logs:     sparseLog{logger: c.Logger},
		skips:    skips{sparseLog{logger: c.Logger}},
		wake:     make(chan struct{}, 1),
		fires:    make(chan struct{}, 1),
		refills:  make(chan struct{}, 1),
		surveys:  make(chan struct{}, 1),
		asks:     make(chan struct{}, 1),
		asked:    make(chan struct{}, 1),
		outcomes: make(chan *attempt, c.Slots),
		planner: planner.New(planner.Config{
			Window: c.Window, Tasks: c.WindowTasks,
			BreakAfter: max(c.BreakerFailures, 0), BreakMost: c.BreakerMax,
			Shared: c.Permits != nil,
		}, c.Slots),
		held: map[*attempt]struct{}{},
	}
	d.planner.Configure(d.now(), c.Settings)
	inline := wheel.Config{Shards: 1, Run: wheel.Inline}
	d.timers = wheel.NewBatch(inline, d.timersFired)
	d.leases = wheel.New(inline, func(a *attempt) { a.cancel(ErrLeaseLost) })
	return d
}

// Stats returns what has happened since New. It costs a few microseconds.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.count.stats()
	s.Running = len(d.held)
	s.Known, s.Lanes, s.Breakers = d.planner.Size()
	return s
}

// Configure puts settings into force, at once; nil: there are none. It is what
// a task.Registry reports, and costs O(queues with lanes).
func (d *Dispatcher) Configure(s *task.Settings) {
	d.update(func(now task.Millis) { d.planner.Configure(now, s) })
}

// update changes the planner, and wakes the goroutines that have something to do after it.
func (d *Dispatcher) update(change func(now task.Millis)) {
	d.mu.Lock()
	d.planner.Tick(d.monotonic())
	clock := d.config.Now()
	change(task.FloorMillis(clock))
	d.planner.Work(task.FloorMillis(clock))
	if d.planner.GiveUp() {
		d.interruptQuarantinedLocked()
	}
	d.armLocked(clock)
	signals, changes := d.planner.Signals(), d.planner.BreakerChanges()
	d.mu.Unlock()
	d.logBreakers(changes)
	if signals.Survey {
		signal(d.surveys)
	}
	if signals.Claim {
		signal(d.wake)
	}
	if signals.Fire {
		signal(d.fires)
	}
	if signals.Refill {
		signal(d.refills)
	}
	if signals.Permits {
		signal(d.asks)
	}
}

// interruptQuarantinedLocked ends the attempt in quarantine. It costs O(attempts under way).
func (d *Dispatcher) interruptQuarantinedLocked() {
	for a := range d.held {
		if a.Lane().Priority == task.Quarantine {
			a.cancel(ErrQuarantineTurn)
		}
	}
}

// armLocked sets the timers of the wake-ups whose moment has changed. For one of
// the wall clock the duration is a difference of that clock's times: after a
// step of it the timer is wrong, timersFired or the poll finds that out, and sets it
// again.
func (d *Dispatcher) armLocked(clock time.Time) {
	for _, b := range d.planner.Wakeups() {
		if !b.IsSet() {
			d.timers.Remove(wheel.ID(b.Timer))
			continue
		}
		wait := d.planner.Until(b)
		if b.Wall != 0 {
			wait = b.Wall.Time().Sub(clock)
		}
		if !d.timers.Reset(wheel.ID(b.Timer), wait) {
			b.Timer = uint64(d.timers.Add(wait, b))
		}
	}
}

// timersFired is called when the timers of wake-ups fire.
func (d *Dispatcher) timersFired(fired []wheel.Expired[*planner.Wakeup]) {
	d.update(func(now task.Millis) {
		for _, e := range fired {
			d.planner.Wake(e.Value, now)
		}
	})
}

// hint is called by the store when tasks were created, moved or given back.
func (d *Dispatcher) hint(entries []task.Entry) {
	d.update(func(now task.Millis) {
		d.count.Hints += uint64(len(entries))
		for _, e := range entries {
			d.planner.Hint(now, e)
		}
	})
}

// now returns what the wall clock shows: what is due by then may be claimed.
func (d *Dispatcher) now() task.Millis { return task.FloorMillis(d.config.Now()) }

// trusted returns the time by which things end, which cannot be undone.
func (d *Dispatcher) trusted() task.Millis { return task.FloorMillis(d.config.Trusted()) }

// monotonic returns the time since New by the clock that never goes back.
func (d *Dispatcher) monotonic() time.Duration { return d.clock.now() }

func (d *Dispatcher) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// signal wakes the one goroutine that waits at c, now or the next time it does.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
