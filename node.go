package foliot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/medium"
	"github.com/foliot/foliot/internal/node"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Options configures a Node. The zero Options works.
type Options struct {
	// Namespace holds the tasks and schedules that this Node creates. It is made
	// if it does not exist. The handlers run the tasks of all namespaces. Default:
	// "default".
	Namespace string
	// Concurrency is how many handlers run at once in this process. Default: 128.
	Concurrency int
	// Grace is how long handlers may go on after the end of Run's context. A
	// negative value means not at all. Default: 10s.
	Grace time.Duration
	// Lease is how long a task stays with a process that has died, on a store
	// that processes share. At least 1s. Default: 15s.
	Lease time.Duration
	// KeepEnded is how long a delivered, cancelled or expired task can be read,
	// and blocks its name for In and At. KeepDead is the same for dead tasks.
	// Defaults: 24h, 30 days.
	KeepEnded, KeepDead time.Duration
	// Died is called with each task that becomes dead after an attempt in this
	// process. Default: a warning in the log, which is written in any case. Calls
	// of Died and Hangs come one after the other, on a goroutine of their own.
	Died func(Info)
	// Hangs is called when a handler still runs after the Timeout of its task.
	// The task stays with it, and takes one of Concurrency. Default: a warning
	// in the log.
	Hangs func(i Info, running time.Duration)
	// Logger receives failures and warnings. Default: slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = task.DefaultNamespace
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	if o.Lease != 0 {
		o.Lease = max(o.Lease, time.Second)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Hangs == nil {
		log := o.Logger
		o.Hangs = func(i Info, running time.Duration) {
			log.Warn("a handler ignores the end of its context: its task stays with it until it returns", "kind", i.Kind, "task", i.Name, "running", running.String())
		}
	}
	return o
}

// Node is an open store with the handlers of this process. It is a Scheduler.
type Node struct {
	core      *node.Node
	options   Options
	handlers  map[string]handler // nil: it has no Mux, and only creates tasks
	calls     callbacks
	runs      sync.Mutex // held by Run
	closeOnce sync.Once
	closeErr  error
}

var _ Scheduler = (*Node)(nil)

func init() {
	node.Of = func(embedded any) *node.Node { return embedded.(*Node).core }
}

// Open opens a store. The handlers of m run only while Run does: before it, this
// process owns no part of a shared store. A program that only creates tasks
// passes a nil Mux, and must not call Run. ctx ends the wait for a Redis that
// loads its data. Call Close at the end.
func Open(ctx context.Context, st Store, m *Mux, o Options) (*Node, error) {
	o = o.withDefaults()
	n := &Node{options: o, handlers: m.all(), calls: callbacks{some: make(chan struct{}, 1)}}
	if limited := n.limited(); limited > dispatch.MaxLimitedKinds {
		return nil, fmt.Errorf("foliot: %d kinds have AtOnce, and at most %d can: limit the others by queues", limited, dispatch.MaxLimitedKinds)
	}
	core, err := node.Open(ctx, st, medium.Config{
		Keep: task.Policy{KeepFinished: o.KeepEnded, KeepDead: o.KeepDead}.WithDefaults(), AuditKeep: store.DefaultAuditKeep, Logger: o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("open the store of foliot: %w", err)
	}
	n.core = core
	if err := n.makeNamespace(ctx); err != nil {
		return nil, errors.Join(err, core.Store.Close())
	}
	kinds := map[string]int{}
	for kind, h := range n.handlers {
		kinds[kind] = h.atOnce
	}
	core.Connect(node.Config{
		Dispatch: dispatch.Config{
			Slots: -1, Handlers: o.Concurrency, Kinds: kinds, Holder: holder(), Hangs: n.hangs,
			LeaseFor: o.Lease, Grace: o.Grace, Observe: n.observe,
		},
		Deliver: n.deliver,
	})
	return n, nil
}

// limited returns how many kinds have a limit.
func (n *Node) limited() (count int) {
	for _, h := range n.handlers {
		if h.atOnce > 0 {
			count++
		}
	}
	return count
}

// holder returns a name of this process for its leases.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return host + "/" + strconv.Itoa(os.Getpid())
}

// makeNamespace makes the namespace unless it exists.
func (n *Node) makeNamespace(ctx context.Context) error {
	name := n.options.Namespace
	if n.core.Store.Settings().Namespace(name) != nil {
		return nil
	}
	e := settings.PutNamespace{Settings: settings.NamespaceSettings{Name: name}, If: task.Precondition{IfNoneMatch: true}}
	replies, err := n.core.Store.Configure(n.asActor(ctx), n.now(), []settings.Edit{e})
	if err == nil && !errors.Is(replies[0].Err, task.ErrPrecondition) { // another process was faster
		err = replies[0].Err
	}
	if err != nil {
		return fmt.Errorf("make the namespace %q: %w", name, err)
	}
	return nil
}

// asActor names this program in the audit log.
func (n *Node) asActor(ctx context.Context) context.Context {
	return settings.WithActor(ctx, settings.Actor{By: "program"})
}

// now returns the time from which delays count: no delay is shortened.
func (n *Node) now() task.Millis { return task.CeilMillis(n.core.Latest()) }

// Run starts due tasks until ctx ends. Then it starts no more, waits for the
// handlers that run, at most for Options.Grace, ends the contexts of the others
// with ErrStopping, waits for them a few seconds more, and returns nil. It
// returns an error if the store is gone, or if handlers ignored the end of their
// contexts. Only one Run can be under way at a time, and a second one after that
// returns an error.
func (n *Node) Run(ctx context.Context) error {
	if n.handlers == nil {
		return errors.New("foliot: this Node was opened without a Mux, so it runs nothing: pass a Mux to Open")
	}
	if !n.runs.TryLock() {
		return errors.New("foliot: Run is under way")
	}
	defer n.runs.Unlock()
	work := context.WithoutCancel(ctx)
	dispatching, stop := context.WithCancel(work)
	defer stop()
	maintaining, stopMaintaining := context.WithCancel(work)
	var maintained sync.WaitGroup
	maintained.Go(func() { n.core.Maintain(maintaining) })
	maintained.Go(func() { n.calls.run(maintaining) })
	defer maintained.Wait()
	defer stopMaintaining()
	ended := make(chan error, 1)
	go func() { ended <- n.core.Deliver(dispatching) }()
	select {
	case <-ctx.Done():
	case err := <-n.core.Fatal:
		stop()
		<-ended
		return fmt.Errorf("foliot: the store is gone: %w", err)
	case err := <-ended:
		return n.core.Failure(err)
	}
	stop()
	n.core.Release()
	if err := <-ended; err != nil {
		return n.core.Failure(err)
	}
	return nil
}

// Close closes the store. Call it after Run has returned. Further calls return
// the result of the first.
func (n *Node) Close() error {
	n.closeOnce.Do(func() { n.closeErr = n.core.Close() })
	return n.closeErr
}

// observe is called for each attempt after its settlement.
func (n *Node) observe(e dispatch.Event) {
	if n.options.Died != nil && e.After != nil && e.After.State == task.Dead {
		i := infoOf(e.After)
		n.calls.add(func() { n.options.Died(i) })
	}
}

func (n *Node) hangs(t *task.Task, running time.Duration) {
	i := infoOf(t)
	n.calls.add(func() { n.options.Hangs(i, running) })
}

// create implements Scheduler.
func (n *Node) create(ctx context.Context, r *request, replace bool) (Info, error) {
	if err := r.when.valid(r.name); err != nil {
		return Info{}, err
	}
	now := n.now()
	spec := r.spec(n.defaults(r.queue), n.options.Namespace, now)
	if err := spec.Validate(now); err != nil {
		return Info{}, translate(r.name, err)
	}
	if len(r.args) > task.MaxBody {
		return Info{}, translate(r.name, &task.FieldError{Path: "work.args", Code: "too_large", Detail: fmt.Sprintf("must have at most %d bytes as JSON", task.MaxBody)})
	}
	if replace {
		return n.apply(ctx, now, task.Replace{Spec: spec})
	}
	return n.apply(ctx, now, task.Create{Spec: spec})
}

// defaults returns a task with the defaults of a queue.
func (n *Node) defaults(queue string) task.Spec {
	return n.core.Store.Settings().Queue(n.options.Namespace, queue).Spec()
}

// apply applies one change.
func (n *Node) apply(ctx context.Context, now task.Millis, c task.Change) (Info, error) {
	t, err := n.applied(ctx, now, c)
	if err != nil {
		return Info{}, translate(c.Target().Name, err)
	}
	return infoOf(t.Task), nil
}

func (n *Node) applied(ctx context.Context, now task.Millis, c task.Change) (task.Result, error) {
	replies, err := n.core.Store.Apply(n.asActor(ctx), now, []task.Change{c})
	if err != nil {
		return task.Result{}, err
	}
	return replies[0].Result, replies[0].Err
}

func (n *Node) key(name string) task.Key {
	return task.Key{Namespace: n.options.Namespace, Name: name}
}

// Move implements Scheduler.
func (n *Node) Move(ctx context.Context, name string, w When) (Info, error) {
	if err := w.valid(name); err != nil {
		return Info{}, err
	}
	now, when := n.now(), w.task()
	c := task.Patch{Key: n.key(name), When: &when, Only: &task.Filter{Namespace: n.options.Namespace, States: []task.State{task.Scheduled, task.Running}}}
	if err := c.Validate(now); err != nil {
		return Info{}, translate(name, err)
	}
	i, err := n.apply(ctx, now, c)
	if errors.Is(err, task.ErrPrecondition) {
		err = dead(name)
	}
	return i, err
}

// dead returns the error of a change that a dead task does not allow.
func dead(name string) error {
	return &Error{Task: name, kind: ErrEnded, detail: "it is dead, so it cannot be moved: retry it first"}
}

// notDead returns the error of a retry of a task that is not dead.
func notDead(name string) error {
	return &Error{Task: name, kind: ErrNotDead, detail: "only a dead task can be retried"}
}

// Retry implements Scheduler.
func (n *Node) Retry(ctx context.Context, name string) (Info, error) {
	c := task.Revive{Key: n.key(name), Only: &task.Filter{Namespace: n.options.Namespace, States: []task.State{task.Dead}}}
	i, err := n.apply(ctx, n.now(), c)
	if errors.Is(err, task.ErrPrecondition) {
		err = notDead(name)
	}
	return i, err
}

// Unschedule implements Scheduler.
func (n *Node) Unschedule(ctx context.Context, name string) error {
	_, err := n.applied(ctx, n.now(), task.RemoveSchedule{Key: task.ScheduleKey(n.options.Namespace, name)})
	return translate(name, err)
}

// Touch implements Scheduler.
func (n *Node) Touch(ctx context.Context, name string) (Info, error) {
	return n.apply(ctx, n.now(), task.Touch{Key: n.key(name)})
}

// Cancel implements Scheduler.
func (n *Node) Cancel(ctx context.Context, name string) (pending bool, err error) {
	r, err := n.applied(ctx, n.now(), task.Cancel{Key: n.key(name)})
	if err != nil {
		return false, translate(name, err)
	}
	return !r.UnderWay, nil
}

// Get implements Scheduler.
func (n *Node) Get(ctx context.Context, name string) (Info, error) {
	t, err := n.core.Store.Get(ctx, n.key(name))
	if err != nil {
		return Info{}, translate(name, err)
	}
	return infoOf(t), nil
}

// schedule implements Scheduler.
func (n *Node) schedule(ctx context.Context, r *request, rule Rule) error {
	now := n.now()
	spec := task.ScheduleSpec{Spec: r.spec(n.defaults(r.queue), n.options.Namespace, now), Rule: rule.rule()}
	if err := spec.Validate(now); err != nil {
		return translate(r.name, err)
	}
	put := task.PutSchedule{Spec: spec}
	old, err := n.core.Store.Get(ctx, put.Target())
	if err == nil && changesNothing(now, put, old) {
		return nil
	}
	if err != nil && !errors.Is(err, task.ErrNotFound) {
		return translate(r.name, err)
	}
	_, err = n.applied(ctx, now, put)
	return translate(r.name, err)
}

// changesNothing reports whether put would leave old, which has its body, as it
// is. A schedule that is due now may be reported as changed.
func changesNothing(now task.Millis, put task.PutSchedule, old *task.Task) bool {
	r, err := put.Apply(now, old, task.Facts{})
	if err != nil {
		return false
	}
	t := r.Task.Clone()
	t.Version = old.Version
	return reflect.DeepEqual(t, old)
}

// Stats counts what this process has done since Open.
type Stats struct {
	Delivered, Failed, Snoozed, Dead, Interrupted uint64 // ended attempts, and tasks that died
	Running                                       int    // handlers that run
	Hanging                                       int    // those that have ignored the end of their context by Timeout
	// LateP50, LateP99 and LateMax are how late handlers started.
	LateP50, LateP99, LateMax time.Duration
}

// Stats returns the counts. It costs some microseconds.
func (n *Node) Stats() Stats {
	s := n.core.Stats()
	return Stats{
		Delivered: s.Delivered, Failed: s.Failed, Snoozed: s.Deferred, Dead: s.Dead, Interrupted: s.Interrupted,
		Running: s.Running, Hanging: s.Hanging,
		LateP50: s.Late.P50, LateP99: s.Late.P99, LateMax: s.Late.Max,
	}
}

// Missing returns the kinds that have due tasks in this process and no handler
// in its Mux, in alphabetical order. Their tasks wait. An empty name stands for
// tasks with a URL, which a Node never sends. On a Redis each process reports
// only the part of the tasks that it owns.
func (n *Node) Missing() []string { return n.core.Missing() }
