package original

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	"github.com/foliot/foliot/internal/webhook"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")) // rueidis closes connections of a cluster seconds later
}

// instant is a whole second in the middle of a minute. The original takes the
// time as an argument, and so do the stores of these tests, so no test waits.
var instant = time.Date(2026, 11, 22, 3, 4, 30, 0, time.UTC)

// after is the due time of the task that ends a test of Foliot. A task that is
// due at instant was called before it, because its lane has an order.
var after = instant.Add(time.Millisecond)

// saw logs the result of a test, and compares it with that on the page. It is
// the last statement of each test.
func saw(t *testing.T, got, page string) {
	t.Helper()
	if t.Log(got); got != page {
		t.Errorf("the page says %s", page)
	}
}

// receiver is a server that is called by the original and by Foliot.
type receiver struct {
	url   string
	http  *http.Client
	fails int // the number of first calls that get the status 500

	mu    sync.Mutex
	now   time.Time // as the test passed it
	calls []called
	more  chan struct{} // has a value after a call
}

type called struct {
	what   string // the task's key, and its body in parentheses
	at     time.Time
	failed bool
}

func receive(t *testing.T) *receiver {
	r := &receiver{more: make(chan struct{}, 1)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url, r.http = server.URL+"/", server.Client()
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	one := called{strings.TrimPrefix(request.URL.Path, "/"), r.now, len(r.calls) < r.fails}
	if len(body) > 0 {
		one.what += "(" + string(body) + ")"
	}
	if r.calls = append(r.calls, one); one.failed {
		w.WriteHeader(http.StatusInternalServerError)
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func (r *receiver) setNow(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

// list returns the calls, sorted, as the page shows them.
func (r *receiver) list(show func(called) string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == 0 {
		return "called: nothing"
	}
	var texts []string
	for _, one := range slices.SortedStableFunc(slices.Values(r.calls), func(a, b called) int { return strings.Compare(a.what, b.what) }) {
		texts = append(texts, show(one))
	}
	return "called: " + strings.Join(texts, ", ")
}

func (r *receiver) String() string {
	return r.list(func(c called) string {
		if c.failed {
			return c.what + " (replied 500)"
		}
		return c.what
	})
}

// early is String with the time from each call to the due time of its task.
func (r *receiver) early(due map[string]time.Time) string {
	return r.list(func(c called) string {
		switch d := due[c.what].Sub(c.at); {
		case d > 0:
			return fmt.Sprintf("%s %v early", c.what, d)
		case d < 0:
			return fmt.Sprintf("%s %v late", c.what, -d)
		}
		return c.what + " on time"
	})
}

// task returns a task of the original that calls r.
func (r *receiver) task(key string, body ...any) Task {
	one := Task{Key: key, URL: r.url + key, Method: http.MethodGet}
	if body != nil {
		one.Method, one.Body = http.MethodPost, body[0]
	}
	return one
}

// spec returns a task of Foliot that calls r.
func (r *receiver) spec(name string, due time.Time, body ...byte) task.Spec {
	s := task.DefaultSpec()
	s.Name, s.ID, s.When = name, "id-"+name, task.When{At: task.CeilMillis(due)}
	s.Request.URL, s.Request.Body = r.url+name, body
	return s
}

// runs makes the scans of a node in the seconds from first to last.
func (r *receiver) runs(t *testing.T, w *Wheel, first, last time.Time) {
	t.Helper()
	for at := first; !at.After(last); at = at.Add(time.Second) {
		r.setNow(at)
		w.Scan(t.Context(), at)
	}
}

// dispatches runs Foliot's dispatcher at the time now until last was called.
func (r *receiver) dispatches(t *testing.T, s *redisstore.Store, now time.Time, last string) {
	t.Helper()
	r.setNow(now)
	clock := func() time.Time { return now }
	sender := webhook.New(webhook.Config{Now: clock, AllowLoopback: func() bool { return true }})
	defer sender.Close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	d := dispatch.New(dispatch.Config{Slots: 1, Now: clock}, s, sender.Deliver)
	var one sync.WaitGroup
	defer one.Wait()
	defer stop() // the attempt under way has time to end
	one.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for !r.called(last, now) {
		select {
		case <-r.more:
		case <-ctx.Done():
			t.Errorf("%s was not called at %v, only: %v", last, now, r)
			return
		}
	}
}

func (r *receiver) called(what string, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.calls, func(c called) bool { return c.what == what && c.at.Equal(at) })
}

func options(addrs ...string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: addrs, DisableCache: true}
}

// wheel returns a node of the original on the Redis at addrs.
func wheel(t *testing.T, r *receiver, addrs ...string) *Wheel {
	t.Helper()
	client, err := rueidis.NewClient(options(addrs...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return New(client, r.http)
}

func add(t *testing.T, w *Wheel, one Task, due time.Time) {
	t.Helper()
	if err := w.Add(t.Context(), one, due); err != nil {
		t.Fatal(err)
	}
}

func cancel(t *testing.T, w *Wheel, key string, due time.Time) {
	t.Helper()
	if err := w.Cancel(t.Context(), key, due); err != nil {
		t.Fatal(err)
	}
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

// create creates tasks long before they are due.
func create(t *testing.T, s *redisstore.Store, specs ...task.Spec) {
	t.Helper()
	changes := make([]task.Change, len(specs))
	for i, one := range specs {
		changes[i] = task.Create{Spec: one}
	}
	apply(t, s, specs[0].When.At.Time().Add(-time.Hour), changes...)
}

func apply(t *testing.T, s *redisstore.Store, now time.Time, changes ...task.Change) {
	t.Helper()
	replies, err := s.Transit(t.Context(), task.CeilMillis(now), store.Changes(changes))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		if r.Err != nil {
			t.Fatalf("%s: %v", changes[i].Target().Name, r.Err)
		}
	}
}

// refused returns the error of a change.
func refused(t *testing.T, s *redisstore.Store, now time.Time, c task.Change) error {
	t.Helper()
	replies, err := s.Transit(t.Context(), task.CeilMillis(now), store.Changes([]task.Change{c}))
	if err != nil {
		t.Fatal(err)
	}
	return replies[0].Err
}

func key(name string) task.Key { return task.Key{Namespace: task.DefaultNamespace, Name: name} }

// claim claims a task for the node with this name.
func claim(t *testing.T, s *redisstore.Store, now time.Time, name, node string) store.Reply {
	t.Helper()
	one, err := s.Get(t.Context(), key(name))
	if err != nil {
		t.Fatal(err)
	}
	c := task.Claim{Key: one.Key(), Lane: one.Lane(), Token: task.Token(node), Until: task.FloorMillis(now.Add(15 * time.Second))}
	replies, err := s.Transit(t.Context(), task.FloorMillis(now), store.Claims([]task.Claim{c}))
	if err != nil {
		t.Fatal(err)
	}
	return replies[0]
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
