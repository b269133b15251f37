package original

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")) // rueidis closes connections of a cluster seconds later
}

// instant is a whole second in the middle of a minute. The original takes the
// time as an argument, and so do the stores of these tests, so no test waits.
var instant = time.Date(2026, 11, 22, 3, 4, 30, 0, time.UTC)

func options(addrs ...string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: addrs, DisableCache: true}
}

// called keeps the keys that were called.
type called struct {
	mu   sync.Mutex
	keys []string
}

func (c *called) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key)
}

// list returns the keys in their order.
func (c *called) list() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(c.keys)), " ")
}

// wheel returns a node of the original on the Redis at addrs, and its calls.
func wheel(t *testing.T, addrs ...string) (*Wheel, *called) {
	t.Helper()
	client, err := rueidis.NewClient(options(addrs...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	got := new(called)
	return New(client, func(_ context.Context, one Task) { got.add(one.Key) }), got
}

func add(t *testing.T, w *Wheel, key string, due time.Time) {
	t.Helper()
	if err := w.Add(t.Context(), Task{Key: key, URL: "http://receiver.example/"}, due); err != nil {
		t.Fatal(err)
	}
}

// runs passes a node the ticks of the seconds from first to last, and waits for
// its calls.
func runs(t *testing.T, w *Wheel, first, last time.Time) {
	t.Helper()
	ticks := make(chan time.Time)
	var one sync.WaitGroup
	one.Go(func() { w.Run(t.Context(), ticks) })
	for at := first; !at.After(last); at = at.Add(time.Second) {
		ticks <- at
	}
	close(ticks)
	one.Wait()
}

// openStore returns a Foliot node that uses the time of its callers.
func openStore(t *testing.T, addrs ...string) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Config{Client: options(addrs...), CallersClock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func spec(name string, due time.Time) task.Spec {
	s := task.DefaultSpec()
	s.Name, s.ID = name, "id-"+name
	s.Request.URL, s.When = "http://receiver.example/", task.When{At: task.CeilMillis(due)}
	return s
}

// create creates tasks long before they are due.
func create(t *testing.T, s *redisstore.Store, specs ...task.Spec) {
	t.Helper()
	changes := make([]task.Change, len(specs))
	for i, one := range specs {
		changes[i] = task.Create{Spec: one}
	}
	apply(t, s, instant.Add(-time.Hour), changes...)
}

func apply(t *testing.T, s *redisstore.Store, now time.Time, changes ...task.Change) {
	t.Helper()
	replies, err := s.Apply(t.Context(), task.CeilMillis(now), changes)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		if r.Err != nil {
			t.Fatalf("%s: %v", changes[i].Target().Name, r.Err)
		}
	}
}

// claim claims a task for the node with this name.
func claim(t *testing.T, s *redisstore.Store, now time.Time, name, node string) store.Reply {
	t.Helper()
	one, err := s.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	c := task.Claim{Key: one.Key(), Lane: one.Lane(), Token: task.Token(node), Until: task.FloorMillis(now.Add(15 * time.Second))}
	replies, err := s.Claim(t.Context(), task.FloorMillis(now), []task.Claim{c})
	if err != nil {
		t.Fatal(err)
	}
	return replies[0]
}

// dispatches runs Foliot's dispatcher at the time now until the task named last
// was delivered. It returns all tasks that were delivered.
func dispatches(t *testing.T, s *redisstore.Store, now time.Time, last string) string {
	t.Helper()
	got, done := new(called), make(chan struct{})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	d := dispatch.New(dispatch.Config{Slots: 1, Now: func() time.Time { return now }}, s, func(_ context.Context, d task.Delivery) task.Outcome {
		if got.add(d.Task.Name); d.Task.Name == last {
			close(done)
		}
		return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: task.FloorMillis(now)}
	})
	var one sync.WaitGroup
	one.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
		t.Errorf("%s was not delivered, only %s", last, got.list())
	}
	stop()
	one.Wait()
	return got.list()
}

// command sends a command to a server.
func command(t *testing.T, addr string, words ...string) string {
	t.Helper()
	reply, err := redistest.Command(t.Context(), addr, words...)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s, %v", words, reply, err)
	}
	return reply
}

// names returns n names.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("task-%03d", i)
	}
	return list
}
