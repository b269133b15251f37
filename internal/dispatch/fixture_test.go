package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"go.uber.org/goleak"
)

// Values that follow from the planner's rules. Its own tests check the rules.
const (
	quarantineTime = time.Minute // how long an attempt keeps the quarantine slot while other tasks wait
	maxStartDelay  = time.Second // an attempt that begins so soon after a receiver's delay had to wait for it
	reserve        = 32          // tasks of each lane that are kept, even if the window is full
)

// bed is a store, a dispatcher on it, and a receiver that records its calls. It
// lives in a bubble: time is fake, and passes only when all goroutines wait.
type bed struct {
	t     *testing.T
	store *memstore.Store
	*Dispatcher

	mu    sync.Mutex // guards the fields below
	calls []call

	stop  context.CancelFunc
	ended chan error
}

// call is one attempt as the receiver saw it.
type call struct {
	name   string
	at     time.Time
	late   time.Duration
	number int
}

// receiver is a Deliver that gets the bed too.
type receiver func(ctx context.Context, d task.Delivery) task.Outcome

// accept answers every attempt with a 2xx at once.
func accept(context.Context, task.Delivery) task.Outcome {
	return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: millis()}
}

// hang does not reply until its context ends.
func hang(ctx context.Context, _ task.Delivery) task.Outcome {
	started := millis()
	<-ctx.Done()
	return task.Outcome{Verdict: task.Interrupted, Error: context.Cause(ctx).Error(), StartedAt: started}
}

func millis() task.Millis { return task.FloorMillis(time.Now()) }

// inBubble runs f with a bed in a bubble and stops the dispatcher at the end.
// If wrap is not nil, the dispatcher uses its result in place of the store.
func inBubble(t *testing.T, c Config, wrap func(store.DispatchStore) store.DispatchStore, r receiver, f func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, c, wrap, r)
		b.start()
		synctest.Wait()
		f(b)
		if err := b.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func newBed(t *testing.T, c Config, wrap func(store.DispatchStore) store.DispatchStore, r receiver) *bed {
	b := &bed{t: t, store: memstore.New(memstore.Config{})}
	var queue store.DispatchStore = b.store
	if wrap != nil {
		queue = wrap(queue)
	}
	if c.Scrubber == nil {
		c.Scrubber, _ = queue.(store.Scrubber)
	}
	c.Reaper, _ = queue.(store.Reaper)
	if c.Permits == nil {
		c.Permits, _ = queue.(store.PermitStore)
	}
	b.Dispatcher = New(c, queue, func(ctx context.Context, d task.Delivery) task.Outcome {
		b.mu.Lock()
		b.calls = append(b.calls, call{d.Task.Name, time.Now(), time.Since(d.Task.Due.Time()), d.Number})
		b.mu.Unlock()
		return r(ctx, d)
	})
	return b
}

func (b *bed) start() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop, b.ended = stop, make(chan error, 1)
	go func() { b.ended <- b.Run(ctx) }()
}

// end stops the dispatcher and returns the result of Run. It may be called
// twice.
func (b *bed) end() error {
	b.stop()
	err := <-b.ended
	b.ended <- err
	return err
}

// edit changes a spec before it is created.
type edit func(*task.Spec)

func to(host string) edit {
	return func(s *task.Spec) { s.Request.URL = "http://" + host + "/" }
}

func priority(p task.Priority) edit { return func(s *task.Spec) { s.Priority = p } }

func retry(r task.Retry) edit { return func(s *task.Spec) { s.Retry = r } }

func at(m task.Millis) edit { return func(s *task.Spec) { s.When = task.When{At: m} } }

// spec returns a valid task for one host, due after delay.
func spec(t testing.TB, name string, delay time.Duration, edits ...edit) task.Spec {
	t.Helper()
	s := task.DefaultSpec()
	s.Name, s.ID = name, name
	s.When = task.When{Relative: true, Delay: delay}
	s.Request.URL = "http://receiver.test/"
	for _, e := range edits {
		e(&s)
	}
	if err := s.Validate(task.CeilMillis(time.Now())); err != nil {
		t.Fatalf("the test's own spec: %v", err)
	}
	return s
}

func (b *bed) create(name string, delay time.Duration, edits ...edit) {
	b.t.Helper()
	b.apply(task.Create{Spec: spec(b.t, name, delay, edits...)})
}

// apply applies changes. It creates missing namespaces.
func (b *bed) apply(changes ...task.Change) {
	b.t.Helper()
	for _, c := range changes {
		if name := c.Target().Namespace; b.store.Standing().Settings.Namespace(name) == nil {
			edit := settings.PutNamespace{Settings: settings.NamespaceSettings{Name: name}}
			if _, err := b.store.Configure(context.Background(), task.CeilMillis(time.Now()), []settings.Edit{edit}); err != nil {
				b.t.Fatalf("make the namespace %s: %v", name, err)
			}
		}
	}
	replies, err := b.store.Transit(context.Background(), task.CeilMillis(time.Now()), store.Changes(changes))
	if err != nil {
		b.t.Fatalf("apply: %v", err)
	}
	for _, r := range replies {
		if r.Err != nil {
			b.t.Fatalf("apply: %v", r.Err)
		}
	}
}

func (b *bed) get(name string) *task.Task {
	b.t.Helper()
	got, err := b.store.Get(context.Background(), key(name))
	if err != nil {
		b.t.Fatalf("get %s: %v", name, err)
	}
	return got
}

func key(name string) task.Key { return task.Key{Namespace: task.DefaultNamespace, Name: name} }

// pass lets time pass until all goroutines wait again.
func (b *bed) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// seen returns the calls so far.
func (b *bed) seen() []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *bed) names() []string {
	var names []string
	for _, c := range b.seen() {
		names = append(names, c.name)
	}
	return names
}

// wantLate checks that every call so far came at or after its due time, and at
// most limit later.
func (b *bed) wantLate(limit time.Duration) {
	b.t.Helper()
	for _, c := range b.seen() {
		if c.late < 0 || c.late > limit {
			b.t.Errorf("%s was called %v after its due time, want between 0 and %v", c.name, c.late, limit)
		}
	}
}

func (b *bed) wantCalls(n int) {
	b.t.Helper()
	if got := len(b.seen()); got != n {
		b.t.Fatalf("%d calls came, want %d: %s", got, n, short(b.names()))
	}
}

func (b *bed) wantState(name string, s task.State) {
	b.t.Helper()
	if got := b.get(name); got.State != s {
		b.t.Errorf("%s is %v (%s), want %v", name, got.State, got.Reason, s)
	}
}

func short(names []string) string {
	if len(names) > 20 {
		return fmt.Sprint(names[:20], " ...")
	}
	return fmt.Sprint(names)
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}
