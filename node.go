package foliot

import (
	"cmp"
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
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Options configures a Node. The zero Options works.
type Options struct {
	// Namespace holds the tasks and schedules that this Node creates, and Open
	// creates it if it does not exist. Default: "default".
	Namespace string
	// AllNamespaces lets the handlers run the tasks of all namespaces, for a
	// program that has one for each of its customers. Each client that may
	// create tasks with a kind in any namespace can then start the handlers.
	// Default: they run only the tasks of Namespace.
	AllNamespaces bool
	// Concurrency is the maximum number of handlers that run at once in this
	// process, at most 1,000,000. Default: 128.
	Concurrency int
	// URLs is a result of the function URLs: this process sends the requests of
	// tasks that have a URL. Default: such tasks wait for another process.
	URLs *URLSender
	// Grace is how long handlers and requests may keep running after the context of Run has
	// ended. A negative value means no time at all. Default: 10s.
	Grace time.Duration
	// Lease is how long a task stays with a process that has died, on a store
	// that several processes share, at least 1s. Default: 15s.
	Lease time.Duration
	// KeepEnded is how long a delivered, cancelled or expired task stays in the
	// store. Until then it can be read, and its name is taken for In and At.
	// KeepDead is the same for dead tasks. Defaults: 24h, 30 days.
	KeepEnded, KeepDead time.Duration
	// Died is called for each task that becomes dead after an attempt in this
	// process, and if this process finds that a task has ended its process too
	// often. The calls begin with Run, and the log has a warning too, even if
	// Died is nil. The calls of Died and Hangs are made one after the other, so
	// both functions must return, and must not wait for the end of Run. A panic
	// in them is logged, and if 10,000 calls wait, further calls are dropped
	// with an error in the log.
	Died func(Info)
	// Hangs is called if a handler still runs after the Timeout of its task.
	// The task stays with this handler, which counts against Concurrency.
	// Default: a warning in the log.
	Hangs func(i Info, running time.Duration)
	// Logger receives failures and warnings. Default: slog.Default().
	Logger *slog.Logger
}

// maxConcurrency bounds the memory that Open allocates for handlers.
const maxConcurrency = 1_000_000

func (o Options) withDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, task.DefaultNamespace)
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	if o.Lease != 0 {
		o.Lease = min(max(o.Lease, time.Second), store.ClaimFor) // other nodes ask a silent one for so long
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Hangs == nil {
		log := o.Logger
		o.Hangs = func(i Info, running time.Duration) {
			log.Warn("a handler ignores the end of its context: the task stays with the handler until it returns", "kind", i.Kind, "namespace", i.Namespace, "task", i.Name, "running", running.String())
		}
	}
	return o
}

// Store is a place where tasks are kept. Packages foliot/dir, foliot/redis and
// foliot/foliottest return one for Open.
type Store interface{ engine.Medium }

// Node is an open store with the handlers of this process. It is a Scheduler
// that several goroutines can use at the same time.
type Node struct {
	core      *engine.Node
	options   Options
	handlers  map[string]handler // nil: the Node has no Mux
	sender    requestSender      // nil: tasks with a URL wait for another process
	calls     callbacks
	runs      sync.Mutex // held by Run
	closeOnce sync.Once
	closeErr  error
}

var _ Scheduler = (*Node)(nil)

func init() {
	engine.Of = func(embedded any) *engine.Node { return embedded.(*Node).core }
}

// Open opens a store. The handlers of m run only while Run does: before Run,
// this process owns no part of a shared store. A program that only creates
// tasks passes a nil Mux, and must not call Run. If a Redis still loads its
// data, Open waits for it until ctx ends. Call Close when you no longer need
// the Node.
func Open(ctx context.Context, st Store, m *Mux, o Options) (*Node, error) {
	o = o.withDefaults()
	n := &Node{options: o, handlers: m.all(), calls: callbacks{log: o.Logger, some: make(chan struct{}, 1)}}
	if o.Concurrency > maxConcurrency {
		return nil, fmt.Errorf("foliot: Options.Concurrency is %d, but can be at most %d", o.Concurrency, maxConcurrency)
	}
	if o.URLs != nil && o.URLs.wrong != nil {
		return nil, o.URLs.wrong
	}
	kinds, limited := map[string]int{}, 0
	for kind, h := range n.handlers {
		if kinds[kind] = h.atOnce; h.atOnce > 0 {
			limited++
		}
	}
	if limited > dispatch.MaxLimitedKinds {
		return nil, fmt.Errorf("foliot: %d kinds have AtOnce, but at most %d can have it: limit the others by the concurrency of their queues", limited, dispatch.MaxLimitedKinds)
	}
	core, err := engine.Open(ctx, st, engine.StoreConfig{
		Keep: task.Policy{KeepFinished: o.KeepEnded, KeepDead: o.KeepDead}, Logger: o.Logger, OnReap: n.reaped,
	})
	if err != nil {
		return nil, fmt.Errorf("open the store of foliot: %w", err)
	}
	n.core = core
	if err := n.makeNamespace(ctx); err != nil {
		return nil, errors.Join(err, core.Store.Close())
	}
	slots := -1
	if o.URLs != nil {
		n.sender, slots = o.URLs.open(ctx, core), 0 // the default of the server
	}
	of := o.Namespace
	if o.AllNamespaces {
		of = ""
	}
	core.Connect(dispatch.Config{
		Slots: slots, Handlers: o.Concurrency, Kinds: kinds, KindsOf: of, Holder: holder(), Hangs: n.hangs,
		LeaseFor: o.Lease, Grace: o.Grace, Observe: n.observe,
	}, n.deliver, nil)
	return n, nil
}

// holder returns a name of this process for its leases.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return host + "/" + strconv.Itoa(os.Getpid())
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
// all calls of Options.Died and Options.Hangs have returned, Run returns nil.
// Otherwise, or if the store fails permanently, it returns an error. Run must be
// called once only, because a second call returns an error.
func (n *Node) Run(ctx context.Context) (err error) {
	if n.handlers == nil && n.sender == nil {
		return errors.New("foliot: this Node was opened without a Mux, so it has no handlers to run: pass a Mux to Open, or Options.URLs to send requests")
	}
	if !n.runs.TryLock() {
		return errors.New("foliot: this Node already runs: call Run once for each Node")
	}
	defer n.runs.Unlock()
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

// Close closes the store. It must not be called before Run has returned, and
// further calls return the result of the first.
func (n *Node) Close() error {
	n.closeOnce.Do(func() {
		if n.sender != nil {
			n.sender.Close()
		}
		n.closeErr = n.core.Close()
	})
	return n.closeErr
}

// observe is called for each attempt after its settlement.
func (n *Node) observe(e dispatch.Event) {
	if e.After != nil {
		n.died(e.After)
	}
}

// reaped is called with tasks after their process has died.
func (n *Node) reaped(left []*task.Task) {
	for _, t := range left {
		n.died(t)
	}
}

// died calls Options.Died if t is dead.
func (n *Node) died(t *task.Task) {
	if n.options.Died != nil && t.State == task.Dead {
		i := infoOf(t)
		n.calls.add("Died", func() { n.options.Died(i) })
	}
}

// hangs is called for a handler that still runs after the Timeout of its task.
func (n *Node) hangs(t *task.Task, running time.Duration) {
	i := infoOf(t)
	n.calls.add("Hangs", func() { n.options.Hangs(i, running) })
}

func (n *Node) create(ctx context.Context, r *request, replace bool) (Info, error) {
	if err := r.when.valid(r.name); err != nil {
		return Info{}, err
	}
	now := n.now()
	spec := r.spec(n.defaults(r.queue), n.options.Namespace, now)
	if err := spec.Validate(now); err != nil {
		return Info{}, translate(r.name, err)
	}
	if r.work.BodySize > task.MaxBody {
		path, as := "work.args", " as JSON"
		if r.work.Kind == "" {
			path, as = "http.body", ""
		}
		return Info{}, translate(r.name, &task.FieldError{Path: path, Code: "too_large", Detail: fmt.Sprintf("must have at most %d bytes%s", task.MaxBody, as)})
	}
	if replace {
		return n.apply(ctx, now, task.Replace{Spec: spec})
	}
	return n.apply(ctx, now, task.Create{Spec: spec})
}

// defaults returns a spec with the defaults of a queue.
func (n *Node) defaults(queue string) task.Spec {
	return n.core.Store.Standing().Settings.Queue(n.options.Namespace, queue).Spec()
}

// apply applies one change, or returns an *Error.
func (n *Node) apply(ctx context.Context, now task.Millis, c task.Change) (Info, error) {
	r, err := n.applied(ctx, now, c)
	if err != nil {
		return Info{}, translate(c.Target().Name, err)
	}
	i := n.infoOf(r.Task)
	i.Durability = cmp.Or(r.Durability, n.core.Store.Standing().Durability)
	return i, nil
}

// applied applies one change, or returns the error of the store.
func (n *Node) applied(ctx context.Context, now task.Millis, c task.Change) (store.Reply, error) {
	replies, err := n.core.Store.Transit(n.asActor(ctx), now, store.Changes([]task.Change{c}))
	if err != nil {
		return store.Reply{}, err
	}
	return replies[0], replies[0].Err
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
	notDead := []task.State{task.Scheduled, task.Running, task.Delivered, task.Cancelled, task.Expired}
	c := task.Patch{Key: n.key(name), When: &when, Only: &task.Filter{Namespace: n.options.Namespace, States: notDead}}
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
	return &Error{Task: name, kind: ErrEnded, detail: "the task is dead, so it cannot be moved: use Retry or Put to start it again"}
}

// notDead returns the error of a retry of a task that is not dead.
func notDead(name string) error {
	return &Error{Task: name, kind: ErrNotDead, detail: "the task is not dead, so it cannot be retried: use Move if it waits, or Put if it has ended"}
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
	if err == nil && t.IsSchedule() { // its record has the name of the schedule, after an @
		err = task.ErrNotFound
	}
	if err != nil {
		return Info{}, translate(name, err)
	}
	return n.infoOf(t), nil
}

func (n *Node) schedule(ctx context.Context, r *request, rule recurrence.Rule) error {
	now := n.now()
	spec := task.ScheduleSpec{Spec: r.spec(n.defaults(r.queue), n.options.Namespace, now), Rule: rule}
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

// changesNothing reports whether put would leave old, which must have its body,
// unchanged. For a schedule that is due now, it may report false.
func changesNothing(now task.Millis, put task.PutSchedule, old *task.Task) bool {
	r, err := put.Apply(now, old, task.Facts{})
	if err != nil {
		return false
	}
	t := r.Task.Clone()
	t.Version = old.Version
	return reflect.DeepEqual(t, old)
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
		Delivered: s.Delivered, Failed: s.Failed, Snoozed: s.Deferred, Dead: s.Dead, Interrupted: s.Interrupted,
		Running: s.Running, Hanging: s.Hanging,
		LateP50: s.Late.P50, LateP99: s.Late.P99, LateMax: s.Late.Max,
		WaitedP50: s.Waited.P50, WaitedP99: s.Waited.P99, WaitedMax: s.Waited.Max,
	}
}

// Missing returns the kinds that have due tasks in this process, in the
// namespaces that it runs, but no handler in its Mux, so that their tasks wait.
// The order is alphabetical, and an empty name stands for tasks with a URL,
// which a Node never sends. On a Redis, each process reports only the tasks that
// it owns. A task that was cancelled, moved or replaced is still reported for
// some seconds.
func (n *Node) Missing() []string {
	kinds, _ := n.core.Missing()
	return kinds
}
