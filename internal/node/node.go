package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/maintenance"
	"github.com/foliot/foliot/internal/medium"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/trustedclock"
	"github.com/foliot/foliot/internal/wire"
)

// Node is a store with the parts that work on it. After Open, call Connect
// once. Then call Deliver and Maintain, each in its own goroutine. Call Close
// at the end.
type Node struct {
	Store    store.Store
	Clock    func() time.Time   // see Now
	Trusted  func() time.Time   // the time for irreversible decisions, such as expiry; see package trustedclock
	Fatal    chan error         // receives at most one error, if the medium has failed for good
	Attempts *activity.Recorder // figures of all attempts of this node, and the recent attempts in full

	opened      *medium.Opened
	config      Config
	log         *slog.Logger
	sparse      *slog.Logger                      // log for lines that may be repeated
	notify      atomic.Pointer[func(...task.Key)] // see OnChange
	dispatch    *dispatch.Dispatcher
	maintenance *maintenance.Worker
}

// Open opens the store. If the medium is not ready, Open waits for it until ctx
// ends. Open replaces c.OnFatal.
func Open(ctx context.Context, m medium.Medium, c medium.Config) (*Node, error) {
	n := &Node{log: c.Logger, Fatal: make(chan error, 1), sparse: sparselog.New(c.Logger)}
	reap := c.OnReap
	c.OnReap = func(left []*task.Task) {
		for _, t := range left {
			logDeath(n.sparse, t)
		}
		if reap != nil {
			reap(left)
		}
	}
	c.OnFatal = func(err error) { n.Fatal <- err } // called at most once, and the channel has room
	opened, err := m.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	n.opened, n.Store, n.Clock, n.Trusted = opened, opened.Store, opened.Now, opened.Trusted
	if n.Trusted == nil {
		n.Trusted = trustedclock.New(n.Now, trustedclock.Warn(n.log)).Now
	}
	n.Attempts = activity.New(task.FloorMillis(n.Now()))
	return n, nil
}

// Config connects the parts of a Node.
type Config struct {
	// Dispatch configures the dispatcher. Connect sets the fields that depend
	// on the store. Observe is called after the node has recorded the attempt.
	Dispatch dispatch.Config
	Deliver  dispatch.Deliver // runs an attempt
	// Maintenance configures the maintenance. Connect sets its clocks and its
	// logger.
	Maintenance maintenance.Config
}

// Connect builds the parts on top of the store and connects them.
func (n *Node) Connect(c Config) {
	n.config = c
	d := c.Dispatch
	d.ReapEvery, d.Gather = n.opened.ReapEvery, n.opened.Gather
	d.Now, d.Trusted, d.Logger = n.Now, n.Trusted, n.log
	d.Scrubber = n.Store
	if s, ok := n.Store.(store.Cluster); ok {
		d.Reaper = s
	}
	if n.Store.Standing().Shared {
		d.Permits, _ = n.Store.(store.PermitStore)
	}
	d.Observe = n.settled
	n.dispatch = dispatch.New(d, notifying{n.Store, n.changed}, c.Deliver)
	m := c.Maintenance
	m.Now, m.Trusted, m.Logger = n.Latest, n.Trusted, n.log
	n.maintenance = maintenance.New(m, n.Store)
	n.Store.Watch(store.Watcher{Settings: n.configured})
	for s := n.Store.Standing().Settings; ; s = n.Store.Standing().Settings { // again if the watcher got newer ones meanwhile
		if n.configured(s); s == n.Store.Standing().Settings {
			return
		}
	}
}

// Now reads the clock that decides when tasks are due. All callers of the store
// must use this clock. It is the clock of the Redis servers if the store has
// any, and otherwise the wall clock of this machine.
func (n *Node) Now() time.Time { return n.Clock() }

// Latest reads the same clock for times that count from a request, such as a
// delay. If the clocks of servers differ, or a clock is not known exactly, it
// returns the latest possible time, so that no delay is shortened.
func (n *Node) Latest() time.Time {
	if n.opened.Latest != nil {
		return n.opened.Latest()
	}
	return n.Clock()
}

// OnChange sets a function. It is called with the keys of tasks that the
// dispatcher has changed, after the change is durable.
func (n *Node) OnChange(notify func(...task.Key)) { n.notify.Store(&notify) }

// changed calls the function of OnChange, if there is one.
func (n *Node) changed(keys ...task.Key) {
	if notify := n.notify.Load(); notify != nil {
		(*notify)(keys...)
	}
}

// settled is called for each attempt after its settlement.
func (n *Node) settled(e dispatch.Event) {
	logDeath(n.sparse, e.After)
	n.Attempts.Note(task.FloorMillis(n.Now()), e.Claimed, &e.Outcome, e.After)
	if observe := n.config.Dispatch.Observe; observe != nil {
		observe(e)
	}
}

// configured passes new settings to the parts.
func (n *Node) configured(s *settings.Settings) {
	n.dispatch.Configure(s)
	n.maintenance.Wake()
}

// Deliver joins the store if several nodes share it. Then it runs the
// dispatcher until ctx ends, and returns the error of the dispatcher.
func (n *Node) Deliver(ctx context.Context) error {
	if n.opened.Join != nil {
		n.opened.Join()
	}
	return n.dispatch.Run(ctx)
}

// Maintain does the background work until ctx ends: the maintenance, the history
// of overdue tasks, and warnings about tasks that this node does not run.
func (n *Node) Maintain(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { n.maintenance.Run(ctx) })
	working.Go(func() { n.watchOverdue(ctx) })
	working.Go(func() { n.watchMissing(ctx) })
	working.Wait()
}

// Log returns the logger of the node.
func (n *Node) Log() *slog.Logger { return n.log }

// Stats returns the counters of the dispatcher.
func (n *Node) Stats() dispatch.Stats { return n.dispatch.Stats() }

// Runs reports whether this node runs tasks of a namespace and a kind. The empty
// kind stands for requests.
func (n *Node) Runs(namespace, kind string) bool {
	if kind == "" {
		return n.config.Dispatch.Slots >= 0
	}
	_, runs := n.config.Dispatch.Kinds[kind]
	return runs && n.Handles(namespace)
}

// Handles reports whether the handlers of this node run tasks of a namespace.
func (n *Node) Handles(namespace string) bool {
	of := n.config.Dispatch.KindsOf
	return of == "" || of == namespace
}

// Near returns how many tasks are known to be due soon, and until when: see
// dispatch.Dispatcher.Near.
func (n *Node) Near() (int, task.Millis) { return n.dispatch.Near() }

// Backup returns the function that copies the store, or nil if it has no files.
func (n *Node) Backup() func(context.Context, io.Writer) error { return n.opened.Backup }

// Examine returns the function that examines the disk or the servers of the
// store, or nil if it has neither.
func (n *Node) Examine() func(context.Context) []wire.Finding { return n.opened.Examine }

// Release leaves the tasks that this node has not started to other nodes on the
// same store. Call it before you wait for the running attempts.
func (n *Node) Release() {
	if n.opened.Release != nil {
		n.opened.Release()
	}
}

// Failure returns the reason why Deliver ended with err. If the medium has
// reported an error, Failure returns that error: err is only its consequence.
func (n *Node) Failure(err error) error {
	select {
	case cause := <-n.Fatal:
		return cause
	default:
		return fmt.Errorf("deliver tasks: %w", err)
	}
}

// Close closes the store. It must not be called before Deliver and Maintain
// have returned.
func (n *Node) Close() error {
	return n.Store.Close()
}
