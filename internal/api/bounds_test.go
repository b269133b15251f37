package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// untaken is a client that reads nothing until taken is closed.
type untaken struct {
	*httptest.ResponseRecorder
	taken chan struct{}
}

func (u untaken) Write(b []byte) (int, error) {
	<-u.taken
	return u.ResponseRecorder.Write(b)
}

// ask sends a GET and returns its reply after all of it was written.
func (s *service) ask(u untaken, path string, headers ...string) int {
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "localhost"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	s.ServeHTTP(u, r)
	return u.Code
}

// status sends a GET and returns the status. Unlike do, it does not compare the
// reply with the document, for requests that are repeated thousands of times.
func (s *service) status(path string, headers ...string) int {
	taken := make(chan struct{})
	close(taken)
	return s.ask(untaken{httptest.NewRecorder(), taken}, path, headers...)
}

// fill creates tasks with bodies of n bytes that are expensive to encode.
func (s *service) fill(namespace string, tasks, n int) {
	s.Helper()
	body := strings.Repeat(`\u0000`, n)
	for i := range tasks {
		s.do("PUT", fmt.Sprintf("/v1/tasks/t%d", i), `{"delay": "1h", "http": {"url": "http://example.com/", "body": "`+body+`"}}`, "Foliot-Namespace: "+namespace).want(201, nil)
	}
}

// One namespace requests more than its share and reads none of it. The memory
// stays bounded, the other requests are refused after a while, and another
// namespace can still read.
func TestUnreadRepliesAreBounded(t *testing.T) {
	quick.Leave(t, "fills connections")
	for _, path := range []string{"/v1/tasks?include=body", "/v1/tasks/t0"} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t)
			s.namespace("acme")
			s.namespace("other")
			s.fill("acme", 10, 256<<10)
			runtime.GC()
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			taken := make(chan struct{})
			var refused atomic.Int64
			var asking sync.WaitGroup
			const requests = 60 // of which 4 lists or 32 tasks are read
			for range requests {
				asking.Go(func() {
					u := untaken{httptest.NewRecorder(), taken}
					if s.ask(u, path, "Foliot-Namespace: acme") == http.StatusTooManyRequests {
						if refused.Add(1); u.Header().Get("Retry-After") == "" {
							t.Error("no Retry-After")
						}
						u.Body.Reset()
					}
				})
			}
			synctest.Wait()
			runtime.GC()
			runtime.GC() // the second collection empties pools
			runtime.ReadMemStats(&after)
			if held := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; held > 80 {
				t.Errorf("%s: the replies hold %d MB", path, held)
			}
			s.do("GET", "/v1/tasks", "", "Foliot-Namespace: other").want(200, nil)
			s.do("GET", "/healthz", "").want(200, nil)
			time.Sleep(10 * time.Second)
			close(taken)
			asking.Wait()
			if n := refused.Load(); n == 0 || n == requests {
				t.Errorf("%s: %d of %d were refused", path, n, requests)
			}
			s.do("GET", path, "", "Foliot-Namespace: acme").want(200, nil) // all is given back
		})
	}
}

// busy is a store that counts concurrent calls.
type busy struct {
	*memstore.Store
	gate          chan struct{} // a list waits for it, unless nil
	disk          chan struct{} // Get and Record wait for it, unless nil
	now, most     atomic.Int64
	steps, inStep atomic.Int64 // calls of Apply, and the largest number of changes in one
}

func (b *busy) enter() (leave func()) {
	n := b.now.Add(1)
	for {
		most := b.most.Load()
		if n <= most || b.most.CompareAndSwap(most, n) {
			break
		}
	}
	return func() { b.now.Add(-1) }
}

func (b *busy) Get(ctx context.Context, key task.Key) (*task.Task, error) {
	if b.disk != nil {
		<-b.disk
	}
	return b.Store.Get(ctx, key)
}

func (b *busy) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	if b.disk != nil {
		<-b.disk
	}
	return b.Store.Configure(ctx, now, edits)
}

func (b *busy) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	defer b.enter()()
	if b.gate != nil {
		<-b.gate
	}
	return b.Store.List(ctx, f, page)
}

func (b *busy) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	defer b.enter()()
	if b.gate != nil {
		<-b.gate
	}
	return b.Store.Audit(ctx, f, before, limit)
}

func (b *busy) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	b.steps.Add(1)
	b.inStep.Store(max(b.inStep.Load(), int64(len(steps))))
	return b.Store.Transit(ctx, now, steps)
}

func serveBusy(t *testing.T, b *busy, configure ...func(*api.Config)) *service {
	s := serve(t, configure...)
	b.Store = s.store
	cfg := api.Config{Version: "test"}
	for _, c := range configure {
		c(&cfg)
	}
	s.Server = api.New(cfg, b)
	return s
}

// Of 200 concurrent lists of a namespace few run. The list of another namespace
// comes after the few that have units, and the others are refused after a while.
func TestListsTakeTurns(t *testing.T) {
	for _, path := range []string{"/v1/tasks?label=a%3Db", "/v1/audit?target=x"} {
		synctest.Test(t, func(t *testing.T) {
			b := &busy{gate: make(chan struct{})}
			s := serveBusy(t, b)
			s.namespace("acme")
			s.namespace("other")
			statuses := make(chan int, 200)
			for range 200 {
				go func() { statuses <- s.do("GET", path, "", "Foliot-Namespace: acme").status }()
			}
			synctest.Wait()
			if most := int64(max(1, runtime.GOMAXPROCS(0)/2)); b.most.Load() > most {
				t.Errorf("%s: %d lists ran at once, not %d", path, b.most.Load(), most)
			}
			other := make(chan int, 1)
			go func() { other <- s.do("GET", path, "", "Foliot-Namespace: other").status }()
			synctest.Wait()
			for range 5 { // the four of acme that have units, and one more
				b.gate <- struct{}{}
				synctest.Wait()
			}
			if len(other) == 0 || <-other != 200 {
				t.Errorf("%s: the other namespace's list waits for more than four lists", path)
			}
			time.Sleep(10 * time.Second)
			close(b.gate)
			count := map[int]int{}
			for range 200 {
				count[<-statuses]++
			}
			if count[200]+count[429] != 200 || count[429] < 190 {
				t.Errorf("%s: %v", path, count)
			}
			s.do("GET", path, "", "Foliot-Namespace: acme").want(200, nil)
		})
	}
}

// A client that waits for the rest of its body or for its task blocks no other
// request.
func TestHandlersThatWaitKeepNoOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("POST", "/v1/tasks", named("a")).want(201, nil)
		rest := make(chan struct{})
		var waiting sync.WaitGroup
		for range 100 {
			waiting.Go(func() { s.do("GET", "/v1/tasks/a?wait=1m", "").want(200, nil) })
			waiting.Go(func() {
				r := httptest.NewRequest("POST", "/v1/tasks/a/touch", during(func() { <-rest }))
				r.Host = "localhost"
				s.send(r)
			})
		}
		synctest.Wait()
		s.do("GET", "/v1/tasks/a", "").want(200, nil)
		close(rest)
		waiting.Wait()
	})
}

// While the store waits for its disk or for another machine, requests without
// the store are served.
func TestHandlersThatWaitForTheStoreKeepNoOthersOut(t *testing.T) {
	for _, path := range []string{"/v1/tasks/a", "/v1/backup", "/metrics"} {
		synctest.Test(t, func(t *testing.T) {
			b := &busy{disk: make(chan struct{})}
			s := serveBusy(t, b, func(c *api.Config) {
				c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-b.disk })
				c.Engine = servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
					_, err := io.WriteString(w, "backup")
					return err
				}}
			})
			s.do("POST", "/v1/tasks", named("a")).want(201, nil)
			var waiting sync.WaitGroup
			for range 200 {
				waiting.Go(func() { s.do("GET", path, "").want(200, nil) })
			}
			synctest.Wait()
			health := make(chan int, 1)
			go func() { health <- s.do("GET", "/healthz", "").status }()
			synctest.Wait()
			if len(health) == 0 {
				t.Errorf("%s: /healthz waits for requests that wait for the store", path)
			}
			close(b.disk)
			waiting.Wait()
			if status := <-health; status != 200 {
				t.Errorf("/healthz: %d", status)
			}
		})
	}
}

func TestViewersShareASampleOfLiveData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		s := serve(t, func(c *api.Config) {
			c.Engine = servertest.Engine{OnLive: func() wire.Live {
				taken.Add(1)
				l := wire.Live{At: "2030-01-01T00:00:00Z", Running: 7, Destinations: []wire.LiveDestination{}}
				for _, n := range []string{"acme", "other"} {
					l.Queues = append(l.Queues, wire.LiveQueue{Namespace: n, Queue: "q", Running: 1})
				}
				return l
			}}
		})
		s.namespace("acme")
		operator, tenant := s.token("*", settings.ScopeRead), s.token("acme", settings.ScopeRead)
		s.token("*", settings.ScopeAdmin)
		var viewing sync.WaitGroup
		for range 64 {
			viewing.Go(func() {
				all := decoded[wire.Live](s.do("GET", "/v1/live", "", operator), 200)
				ours := decoded[wire.Live](s.do("GET", "/v1/live", "", tenant), 200)
				if all.Running != 7 || len(all.Queues) != 2 || ours.Running != 0 || len(ours.Queues) != 1 || ours.Queues[0].Namespace != "acme" {
					t.Errorf("%+v, and of acme %+v", all, ours)
				}
			})
		}
		viewing.Wait()
		if n := taken.Load(); n != 1 {
			t.Errorf("%d samples were taken for 128 viewers", n)
		}
		time.Sleep(time.Second)
		s.do("GET", "/v1/live", "", operator).want(200, nil)
		if n := taken.Load(); n != 2 {
			t.Errorf("%d samples, a second later", n)
		}
	})
}

func TestReadsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		s.namespace("other")
		read := func(namespace string) reply { return s.do("GET", "/v1/tasks", "", "Foliot-Namespace: "+namespace) }
		reads := func(n int) {
			for range n {
				if status := s.status("/v1/tasks", "Foliot-Namespace: acme"); status != 200 {
					t.Fatalf("status %d", status)
				}
			}
		}
		reads(10_000)
		r := read("acme")
		if r.problem(429, "rate_exceeded", "read_rate"); r.header.Get("Retry-After") != "1" {
			t.Error(r.header)
		}
		read("other").want(200, nil)
		time.Sleep(time.Second)
		reads(1000)
		read("acme").problem(429, "rate_exceeded", "read_rate")
		s.do("PUT", "/v1/namespaces/slow", `{"read_rate": 1}`).want(201, nil)
		read("slow").want(200, nil)
		read("slow").problem(429, "rate_exceeded", "read_rate")
	})
}

// A change by filter has steps, so that changes of other requests run in
// between.
func TestChangesByFilterGoInSteps(t *testing.T) {
	b := new(busy)
	s := serveBusy(t, b)
	for i := range 1050 {
		s.do("POST", "/v1/tasks", named(fmt.Sprint("t", i))).want(201, nil)
	}
	b.steps.Store(0)
	done := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?all=true", ""), 200)
	if done.Changed != 1050 || b.inStep.Load() > 100 || b.steps.Load() < 11 {
		t.Errorf("%d changes in %d steps, the largest of %d", done.Changed, b.steps.Load(), b.inStep.Load())
	}
}

// A client that ignores refusals gets only a few of them a second, so they cost
// very little.
func TestRefusalsAreDelayedForAClientThatIgnoresThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		s.do("PUT", "/v1/namespaces/slow", `{"read_rate": 1}`).want(201, nil)
		statuses := make(chan int, 2000)
		for range 100 { // connections that repeat at once
			go func() {
				for range 10 {
					statuses <- s.do("GET", "/v1/tasks", "", "Foliot-Namespace: slow").status
				}
			}()
		}
		synctest.Wait()
		if n := len(statuses); n > 25 {
			t.Errorf("%d of 1000 requests are answered at once", n)
		}
		before := time.Now()
		s.do("GET", "/v1/tasks", "", "Foliot-Namespace: acme").want(200, nil)
		if d := time.Since(before); d != 0 {
			t.Errorf("a request of another namespace takes %v", d)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(statuses); n < 300 || n > 700 {
			t.Errorf("%d of 1000 requests are answered within 5 s", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(statuses); n != 1000 {
			t.Errorf("%d of 1000 requests are answered", n)
		}
	})
}

func TestLiveDataHasTheTimeOfTheReply(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := serve(t, func(c *api.Config) {
		c.Now = func() time.Time { return now }
		c.Engine = servertest.Engine{OnLive: func() wire.Live {
			return wire.Live{At: wire.FormatTime(now), Queues: []wire.LiveQueue{}, Destinations: []wire.LiveDestination{}}
		}}
	})
	for _, want := range []string{"2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00.400Z"} {
		l := decoded[wire.Live](s.do("GET", "/v1/live", ""), 200)
		if l.Now != want || l.At != "2030-01-01T00:00:00.000Z" {
			t.Errorf("the answer of %s has the time %s, and its sample %s", want, l.Now, l.At)
		}
		now = now.Add(400 * time.Millisecond)
	}
}

// The tasks in the replies to cancels and touches are larger than the calls, so one
// namespace must not have them of many batches in memory.
func TestUnreadBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		s.do("POST", "/v1/tasks", named("a"), "Foliot-Namespace: acme").want(201, nil)
		send := func(w http.ResponseWriter, calls int) {
			r := httptest.NewRequest("POST", "/v1/tasks/batch", strings.NewReader(`{"calls": [`+strings.Repeat(`{"touch": "a"},`, calls-1)+`{"cancel": "none"}]}`))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Foliot-Namespace", "acme")
			s.ServeHTTP(w, r)
		}
		taken := make(chan struct{})
		var under, refused atomic.Int64
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(func() {
				u := untaken{httptest.NewRecorder(), taken}
				if send(u, 1000); u.Code == http.StatusTooManyRequests {
					refused.Add(1)
				} else {
					under.Add(1)
				}
			})
		}
		time.Sleep(10 * time.Second)
		small := httptest.NewRecorder()
		send(small, 100) // of a client that sends calls together
		if small.Code != http.StatusOK {
			t.Errorf("a small batch: %d", small.Code)
		}
		close(taken)
		asking.Wait()
		if under.Load() > 4 || refused.Load() == 0 {
			t.Errorf("%d batches were under way, and %d were refused", under.Load(), refused.Load())
		}
		after := httptest.NewRecorder()
		if send(after, 1000); after.Code != http.StatusOK { // all is given back
			t.Errorf("later: %d", after.Code)
		}
	})
}

// A batch that is too large is refused before it is parsed. A batch of 16 MiB
// costs no more than its bytes, with any content.
func TestAnOversizedBatchIsNotDecoded(t *testing.T) {
	quick.Leave(t, "sends a huge batch")
	const whole = 15 << 20
	keys := func(value string) string {
		var b strings.Builder
		for i := 0; b.Len() < whole; i++ {
			fmt.Fprintf(&b, `%q:%s,`, fmt.Sprintf("%x", i), value)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	for name, test := range map[string]struct{ http, code string }{
		"headers": {`{"url": "http://example.com/", "headers": ` + keys(`""`) + `}`, "too_many"},
		"body":    {`{"url": "http://example.com/", "body": ` + keys(`1`) + `}`, "body_too_large"},
	} {
		s := serve(t)
		batch := `{"tasks": [{"delay": "1h", "http": ` + test.http + `}, {"delay": "1h", "http": {"url": "http://example.com/"}}]}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", batch), 200)
		runtime.ReadMemStats(&after)
		if len(done.Results) != 2 || done.Results[0].Code != test.code || done.Results[1].Status != 201 {
			t.Errorf("%s: %+v", name, done.Results)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 128 {
			t.Errorf("%s: %d MB were allocated for a batch of 15 MB", name, mb)
		}
	}
}
