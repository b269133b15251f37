package foliot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Store is a place where tasks are kept, for Open: a result of foliot/dir.Store, of
// foliot/redis.Parse or Use, of foliot/postgres.Parse or Use, or of
// foliot/foliottest.Store.
type Store struct{ medium engine.Medium }

// Node is an open store with the handlers of this process. It is a Scheduler
// that several goroutines can use at the same time.
type Node struct {
	core      *engine.Node
	options   Options
	handlers  map[string]handler // nil: the Node has no Mux
	sender    requestSender      // nil: tasks with a URL wait for another process
	calls     *callbacks
	runs      sync.Mutex      // held by Run, and by a Node that is closed
	closing   context.Context // ends with Close
	close     context.CancelFunc
	closeOnce sync.Once
	closeErr  error
}

var _ Scheduler = (*Node)(nil)

func init() {
	engine.Of = func(node any) *engine.Node { return node.(*Node).core }
	engine.NewStore = func(m engine.Medium) any { return Store{m} }
	engine.ItemOf = func(item any) *engine.Item { i := item.(Item); return &i.item }
	engine.WhenOf = func(when any) (task.When, error) { w := when.(When); return w.task(), w.err }
	engine.RuleOf = func(rule any) (recurrence.Rule, error) { return rule.(Rule).stored() }
}

// Open opens a store. The handlers of m run only while Run does: before Run,
// this process owns no part of a shared store. A program that only creates
// tasks passes a nil Mux, and must not call Run. If a Redis or PostgreSQL is still
// starting, Open waits for it until ctx ends. Its error names all mistakes in m and
// o. It is ErrUnavailable if the store cannot be reached, or if another process has
// the directory open. Call Close when you no longer need the Node.
func Open(ctx context.Context, st Store, m *Mux, o Options) (*Node, error) {
	mistakes := errors.Join(m.check(), o.check())
	if st.medium == nil {
		mistakes = errors.Join(errors.New("foliot: the Store is the zero Store: pass a result of foliot/dir.Store, foliot/redis.Parse, foliot/postgres.Parse or foliot/foliottest.Store"), mistakes)
	}
	if mistakes != nil {
		return nil, mistakes
	}
	o = o.withDefaults()
	n := &Node{options: o, handlers: m.all(), calls: newCallbacks(o.Logger)}
	n.closing, n.close = context.WithCancel(context.Background())
	kinds := map[string]int{}
	for kind, h := range n.handlers {
		kinds[kind] = h.atOnce
	}
	core, err := engine.Open(ctx, st.medium, engine.StoreConfig{
		Keep: task.Policy{KeepFinished: o.KeepFinished, KeepDead: o.KeepDead}, Logger: o.Logger,
	})
	if err != nil {
		return nil, notOpened(fmt.Errorf("open the store of foliot: %w", err))
	}
	n.core = core
	if err := n.makeNamespace(ctx); err != nil {
		return nil, errors.Join(notOpened(err), core.Store.Close())
	}
	slots := -1
	if o.URLs != nil {
		n.sender, slots = o.URLs.open(ctx, core), 0 // the default of the server
	}
	n.died(core.Early...)
	core.Listen(func(e engine.Event) {
		n.died(e.Reaped...)
		if e.Settled.After != nil {
			n.died(e.Settled.After)
		}
	})
	of := o.Namespace
	if o.AllNamespaces {
		of = ""
	}
	host, _ := os.Hostname() // "" if it is unknown
	core.Connect(dispatch.Config{
		Slots: slots, Handlers: o.Concurrency, Kinds: kinds, KindsOf: of, Holder: fmt.Sprintf("%s/%d", host, os.Getpid()), Hangs: n.hangs,
		LeaseFor: o.Lease, Grace: o.Grace,
	}, n.deliver, nil)
	return n, nil
}

// makeNamespace creates the namespace of the options unless it exists.
func (n *Node) makeNamespace(ctx context.Context) error {
	name := n.options.Namespace
	if n.core.Store.Standing().Settings.Namespace(name) != nil {
		return nil
	}
	e := settings.PutNamespace{Settings: settings.NamespaceSettings{Name: name}, If: task.Precondition{IfNoneMatch: true}}
	replies, err := n.core.Store.Configure(n.asActor(ctx), n.now(), []settings.Edit{e})
	if err == nil && !errors.Is(replies[0].Err, task.ErrPrecondition) { // another process was faster
		err = replies[0].Err
	}
	if err != nil {
		return fmt.Errorf("create the namespace %q: %w", name, err)
	}
	return nil
}

// asActor returns a context for changes, with which the audit log names this
// program as the author of edits.
func (n *Node) asActor(ctx context.Context) context.Context {
	return settings.WithActor(ctx, settings.Actor{By: "program"})
}

// now returns the time from which delays count, rounded up so that no delay is
// shortened.
func (n *Node) now() task.Millis { return task.CeilMillis(n.core.Latest()) }

// Run starts due tasks until ctx ends, and then waits up to Options.Grace for
// the handlers that run. After that it ends the contexts of the remaining
// handlers with ErrStopping, and waits a few seconds more. If all handlers and
// all calls of Options.OnDead and Options.OnHang have returned, Run returns nil.
// Otherwise, or if the store fails permanently, it returns an error. A second call
// of Run returns an error, also after the first has returned.
func (n *Node) Run(ctx context.Context) (err error) {
	if n.handlers == nil && n.sender == nil {
		return errors.New("foliot: this Node was opened without a Mux, so it has no handlers to run: pass a Mux to Open, or Options.URLs to send requests")
	}
	if n.closing.Err() != nil {
		return errors.New("foliot: this Node is closed: call Run before Close")
	}
	if !n.runs.TryLock() {
		return errors.New("foliot: this Node already runs: call Run once for each Node")
	}
	defer n.runs.Unlock()
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(n.closing, end)()
	work := context.WithoutCancel(ctx)
	dispatching, stop := context.WithCancel(work)
	defer stop()
	maintaining, stopMaintaining := context.WithCancel(work)
	var maintained sync.WaitGroup
	var blocked error
	maintained.Go(func() { n.core.Maintain(maintaining) })
	maintained.Go(func() { blocked = n.calls.run(maintaining) })
	if n.sender != nil {
		maintained.Go(func() { n.sender.Run(maintaining) })
	}
	defer func() {
		stopMaintaining()
		maintained.Wait()
		err = errors.Join(err, blocked)
	}()
	ended := make(chan error, 1)
	go func() { ended <- n.core.Deliver(dispatching) }()
	select {
	case <-ctx.Done():
	case err := <-n.core.Fatal:
		stop()
		<-ended //nolint:errcheck // the store's error is the cause
		return fmt.Errorf("foliot: the store failed: %w", err)
	case err := <-ended:
		return err
	}
	stop()
	n.core.Release()
	return <-ended
}

// Close closes the store. If Run has not returned, Close ends it as the end of its
// context does, and waits for it, so a handler, OnDead and OnHang must not call it.
// Further calls return the result of the first.
func (n *Node) Close() error {
	n.closeOnce.Do(func() {
		n.close()
		n.runs.Lock()
		if n.sender != nil {
			n.sender.Close()
		}
		n.closeErr = n.core.Close()
	})
	return n.closeErr
}

// died calls Options.OnDead for each task that is dead.
func (n *Node) died(tasks ...*task.Task) {
	for _, t := range tasks {
		if n.options.OnDead != nil && t.State == task.Dead {
			i := infoOf(t)
			n.calls.add("OnDead", func() { n.options.OnDead(i) })
		}
	}
}

// hangs is called for a handler that still runs after the Timeout of its task.
func (n *Node) hangs(t *task.Task, running time.Duration) {
	i := infoOf(t)
	n.calls.add("OnHang", func() { n.options.OnHang(i, running) })
}

// Stats counts the work of this process since Open.
type Stats struct {
	// Dead counts tasks that became dead, while the others count ended attempts.
	Delivered, Failed, Snoozed, Dead, Interrupted uint64
	// Running is the number of handlers that run now, and Hanging the number of
	// them that still run after the Timeout of their task.
	Running, Hanging int
	// LateP50, LateP99 and LateMax are the median, the 99th percentile and the
	// maximum of the lateness of this process: from the due time of a task to the
	// start of its handler, without the time for which pauses and limits delayed
	// the task. WaitedP50, WaitedP99 and WaitedMax are the figures of that time.
	LateP50, LateP99, LateMax       time.Duration
	WaitedP50, WaitedP99, WaitedMax time.Duration
}

// Stats returns the counts, which takes a few microseconds.
func (n *Node) Stats() Stats {
	s := n.core.Stats()
	return Stats{
		Delivered: s.Delivered, Failed: s.Failed, Snoozed: s.Snoozed, Dead: s.Dead, Interrupted: s.Interrupted,
		Running: s.Running, Hanging: s.Hanging,
		LateP50: s.Late.P50, LateP99: s.Late.P99, LateMax: s.Late.Max,
		WaitedP50: s.Waited.P50, WaitedP99: s.Waited.P99, WaitedMax: s.Waited.Max,
	}
}

// MissingHandlers returns the kinds that have due tasks in this process, in the
// namespaces that it runs, but no handler in its Mux, so that their tasks wait.
// The order is alphabetical. An empty name stands for tasks with a URL, if the
// Node has no Options.URLs. On a shared store, each process reports only the tasks that
// it owns. A task that was cancelled, moved or replaced is still reported for
// some seconds.
func (n *Node) MissingHandlers() []string {
	kinds, _ := n.core.Missing()
	return kinds
}
