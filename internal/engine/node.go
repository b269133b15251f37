package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/maintenance"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/trustedclock"
)

// Node is a store with the parts that work on it. After Open, call Connect once,
// then Deliver and Maintain, each in its own goroutine, and Close at the end.
type Node struct {
	*Opened
	Fatal    chan error         // receives at most one error, if the medium has failed for good
	Attempts *activity.Recorder // recent attempts of this node
	Early    []*task.Task       // tasks after Open removed their lost leases; until Connect

	config         StoreConfig
	dispatchConfig dispatch.Config // as Connect got it
	sparse         *slog.Logger    // log for lines that may be repeated
	past           *history.Recorder
	endHistory     func()       // waits for the last flush; nil before Connect
	flushed        atomic.Int64 // the second of the last FlushHistory
	dispatch       *dispatch.Dispatcher
	maintenance    *maintenance.Worker

	listeners sync.Map // the keys are *func(Event)
}

// Open opens the store, and waits until ctx ends if the medium is not ready. It
// replaces c.OnFatal and c.OnReap.
func Open(ctx context.Context, m Medium, c StoreConfig) (*Node, error) {
	n := &Node{config: c, Fatal: make(chan error, 1), sparse: sparselog.New(c.Logger)}
	c.OnReap = func(left []*task.Task) {
		for _, t := range left {
			logDeath(n.sparse, t)
		}
		if n.Opened == nil {
			n.Early = append(n.Early, left...)
			return
		}
		n.tell(Event{Reaped: left})
	}
	c.OnFatal = func(err error) { n.Fatal <- err } // called at most once, and the channel has room
	var err error
	if n.Opened, err = m.Open(ctx, c); err != nil {
		return nil, err
	}
	if m := n.Store.Standing().Settings.Migration(); m != nil {
		return nil, errors.Join(m.Refusal(), n.Store.Close())
	}
	if n.Latest == nil {
		n.Latest = n.Now
	}
	if n.Trusted == nil {
		n.Trusted = trustedclock.New(n.Now, trustedclock.Warn(c.Logger)).Now
	}
	n.Attempts, n.past = activity.New(task.FloorMillis(n.Now())), history.New(rand.Text()[:10])
	return n, nil
}

// Connect builds the parts on top of the store, connects them, and sets the
// fields of c that depend on the store. deliver runs an attempt. pending returns edits of the
// settings that the maintenance makes now and then, and may be nil; see
// maintenance.Config.
func (n *Node) Connect(c dispatch.Config, deliver dispatch.Deliver, pending func() []settings.Edit) {
	n.dispatchConfig = c
	wrote := func(old, t *task.Task) { n.past.Wrote(func() task.Millis { return task.FloorMillis(n.Now()) }, old, t) }
	for _, t := range n.Early {
		wrote(&task.Task{ID: t.ID}, t)
	}
	n.Early = nil
	c.ReapEvery, c.Gather = n.ReapEvery, n.Gather
	c.Now, c.Trusted, c.Logger = n.Now, n.Trusted, n.Log()
	c.Scrubber = n.Store
	if s, ok := n.Store.(store.Cluster); ok {
		c.Reaper = s
	}
	if n.Store.Standing().Shared {
		c.Permits, _ = n.Store.(store.PermitStore)
	}
	c.Observe = n.settled
	n.dispatch = dispatch.New(c, notifying{n.Store, n}, deliver)
	n.maintenance = maintenance.New(maintenance.Config{
		Now: n.Latest, Trusted: n.Trusted, Logger: n.Log(), KeepTokens: n.config.AuditKeep, Pending: pending,
	}, n.Store)
	ctx, stop := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	n.endHistory = func() { stop(); keeping.Wait() }
	keeping.Go(func() { n.keepHistory(ctx) }) // also in a program that only creates tasks
	n.Store.Watch(store.Watcher{Settings: n.configured, Wrote: wrote})
	for s := n.Store.Standing().Settings; ; s = n.Store.Standing().Settings { // again if the watcher got newer ones by then
		if n.configured(s); s == n.Store.Standing().Settings {
			return
		}
	}
}

// Now reads the clock that decides when tasks are due, which all callers of the
// store must use. It is the clock of the Redis servers if the store has any, and
// otherwise the wall clock of this machine.
func (n *Node) Now() time.Time { return n.Clock() }

// Log returns the logger of the node.
func (n *Node) Log() *slog.Logger { return n.config.Logger }

// Event is what has happened when a listener is called. One of its fields is set.
type Event struct {
	Changed []task.Key     // tasks that the dispatcher has changed
	Settled dispatch.Event // an attempt, after its settlement; Claimed is nil if there is none
	Reaped  []*task.Task   // tasks after their lost leases were removed, but not by Open
}

// Listen adds a listener until stop is called, after which a call of it may still
// be under way. It is called after each step is durable, on the goroutine that
// made the step, so it must return quickly.
func (n *Node) Listen(l func(Event)) (stop func()) {
	n.listeners.Store(&l, nil)
	return func() { n.listeners.Delete(&l) }
}

func (n *Node) tell(e Event) {
	n.listeners.Range(func(l, _ any) bool { (*l.(*func(Event)))(e); return true })
}

// notifying is a DispatchStore that notifies the API of settled tasks, so that long
// polls for them return at once.
type notifying struct {
	store.DispatchStore

	node *Node
}

// Transit makes the steps first and notifies afterwards, so that a poll returns
// only durable outcomes. It notifies of each settled task, and of each task that
// could not be claimed, because that may have expired.
func (s notifying) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	replies, err := s.DispatchStore.Transit(ctx, now, steps)
	var changed []task.Key
	for i, r := range replies {
		if st := &steps[i]; st.Kind == store.Settlement || st.Kind == store.Claim && r.Err != nil {
			changed = append(changed, st.Key)
		}
	}
	if len(changed) > 0 {
		s.node.tell(Event{Changed: changed})
	}
	return replies, err
}

// settled is called for each attempt after its settlement.
func (n *Node) settled(e dispatch.Event) {
	logDeath(n.sparse, e.After)
	now := task.FloorMillis(n.Now())
	n.past.Attempt(now, e.Claimed, &e.Outcome, e.After)
	n.Attempts.Note(now, e.Claimed, &e.Outcome, e.After)
	n.tell(Event{Settled: e})
}

// logDeath logs t if it died.
func logDeath(log *slog.Logger, t *task.Task) {
	if t == nil || t.State != task.Dead {
		return
	}
	attrs := []any{
		"namespace", t.Namespace, "queue", t.Queue, "task", t.Name, "id", t.ID, "reason", t.Reason,
		"destination", t.Request.Destination, "due", t.OriginalDue.Time().UTC(), "attempts", t.Attempts,
	}
	if n := len(t.History); n > 0 {
		last := t.History[n-1]
		attrs = append(attrs, "status", last.Status, "error", last.Error)
		if last.Detail != "" {
			attrs = append(attrs, "detail", last.Detail)
		}
	}
	log.Warn("a task died", attrs...)
}

// configured passes new settings to the parts.
func (n *Node) configured(s *settings.Settings) {
	n.dispatch.Configure(s)
	n.maintenance.Wake()
}

// Deliver joins the store if several nodes share it, and then runs the
// dispatcher until ctx ends. Its error is the reason why the medium has failed,
// if the medium has reported one, and otherwise the error of the dispatcher.
func (n *Node) Deliver(ctx context.Context) error {
	if n.Join != nil {
		n.Join()
	}
	err := n.dispatch.Run(ctx)
	if err == nil {
		return nil
	}
	select {
	case cause := <-n.Fatal:
		return cause
	default:
		return fmt.Errorf("deliver tasks: %w", err)
	}
}

// Maintain does the background work until ctx ends: the maintenance, and
// warnings about tasks that this node does not run.
func (n *Node) Maintain(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { n.maintenance.Run(ctx) })
	working.Go(func() { n.watchMissing(ctx) })
	working.Wait()
}

// Stats returns the counters of the dispatcher.
func (n *Node) Stats() dispatch.Stats { return n.dispatch.Stats() }

// Release leaves the tasks that this node has not started to other nodes on the
// same store. Call it before you wait for the running attempts.
func (n *Node) Release() {
	if n.Opened.Release != nil {
		n.Opened.Release()
	}
}

// Close closes the store, and must not be called before Deliver and Maintain
// have returned.
func (n *Node) Close() error {
	if n.endHistory != nil {
		n.endHistory()
	}
	return n.Store.Close()
}
