package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// slowDue is a store in which a count takes a while, and has a given result.
type slowDue struct {
	*memstore.Store
	counts atomic.Int64
	takes  time.Duration
	until  time.Duration // the count is exact until so long after the first bound; 0: to the end
}

func (s *slowDue) Due(ctx context.Context, r store.DueRead, found store.DueFound) (task.Millis, error) {
	s.counts.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	exact, err := s.Store.Due(ctx, r, found)
	if s.until != 0 {
		exact = r.Bounds[0].Add(s.until)
	}
	return exact, err
}

func serveDue(t *testing.T, slow *slowDue, configure ...func(*api.Config)) *service {
	slow.Store = memstore.New(memstore.Config{})
	var cfg api.Config
	for _, c := range configure {
		c(&cfg)
	}
	return &service{T: t, Server: api.New(cfg, slow), store: slow.Store}
}

// add creates a task that is due after a delay.
func (s *service) add(queue string, delay time.Duration, headers ...string) string {
	s.Helper()
	var made wire.Task
	body := fmt.Sprintf(`{"delay": %q, "queue": %q, "http": {"url": "https://receiver.example/"}}`, delay, queue)
	s.do("POST", "/v1/tasks", body, headers...).want(201, &made)
	return made.Name
}

// due returns the reply to GET /v1/due.
func (s *service) due(query string, headers ...string) (d wire.Due) {
	s.Helper()
	s.do("GET", "/v1/due"+query, "", headers...).want(200, &d)
	return d
}

func TestRingsHaveTheTasksThatComeDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveDue(t, &slowDue{}, func(c *api.Config) {
			c.Engine = servertest.Engine{OnNear: func() (int, task.Millis) { return 3, task.CeilMillis(time.Now().Add(5 * time.Second)) }}
		})
		for _, delay := range []time.Duration{0, time.Second, time.Second + time.Millisecond, time.Minute, 30 * 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
			s.add("mail", delay)
		}
		s.add("bills", time.Hour)
		s.do("POST", "/v1/queues/bills/pause", "").want(201, nil)
		s.do("PUT", "/v1/schedules/nightly", `{"every": "1m", "task": {"http": {"url": "https://receiver.example/"}}}`).want(201, nil)
		d := s.due("?by=queue")
		if d.Scheduled != 7 || d.Overdue != 1 || d.Later != 1 || d.ExactUntil != "" || len(d.Rings) != 5 || d.Timers != 3 || d.NearUntil == "" {
			t.Fatalf("%+v", d)
		}
		var inRings, held []int64
		var slots []string
		for _, r := range d.Rings {
			if len(r.Counts) != 64 {
				t.Fatalf("%d slots", len(r.Counts))
			}
			inRings, held, slots = append(inRings, sum(r.Counts)), append(held, sum(r.Held)), append(slots, r.Slot)
		}
		if fmt.Sprint(inRings, held) != "[2 3 4 4 5] [0 0 1 1 1]" || d.Rings[0].Held != nil || strings.Join(slots, " ") != "64ms 4.096s 4m22.144s 4h39m37.216s 298h15m41.824s" {
			t.Errorf("%v, held %v, slots of %v", inRings, held, slots)
		}
		if q := d.Rings[4].Queues; len(q) != 2 || q[0].Queue != "mail" || q[1].Queue != "bills" || q[1].Namespace != "default" || sum(q[0].Counts) != 4 {
			t.Errorf("%+v", q)
		}
		if d := s.due("?until=1h&step=1m&queue=mail"); len(d.Rings) != 1 || len(d.Rings[0].Counts) != 60 || d.Rings[0].Counts[0]+d.Rings[0].Counts[1] != 3 || d.Scheduled != 6 || d.Later != 2 || d.Rings[0].Queues != nil {
			t.Errorf("%+v", d)
		}
		if d := s.due("?until=100ms&step=33ms"); len(d.Rings[0].Counts) != 4 {
			t.Errorf("%+v", d)
		}
	})
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func TestANamespaceCountsItsOwnTasks(t *testing.T) {
	s := serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnNear: func() (int, task.Millis) { return 3, task.CeilMillis(time.Now()) }}
	})
	s.namespace("acme")
	operator := s.token("*", settings.ScopeWrite)
	s.add("q", time.Hour, operator)
	for range 2 {
		s.add("q", time.Hour, operator, "Foliot-Namespace: acme")
	}
	for _, c := range []struct {
		headers []string
		want    int64
		timers  int
	}{
		{[]string{s.token("acme", settings.ScopeRead)}, 2, 0},
		{[]string{operator}, 3, 3},
		{[]string{operator, "Foliot-Namespace: acme"}, 2, 3},
		{[]string{operator, "Foliot-Namespace: default"}, 1, 3},
	} {
		if d := s.due("?by=queue&rings=4", c.headers...); d.Scheduled != c.want || sum(d.Rings[3].Counts) != c.want || d.Timers != c.timers {
			t.Errorf("%v: %+v", c.headers, d)
		}
	}
	s.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme", Suspended: true}})
	if d := s.due("?rings=3", s.token("acme", settings.ScopeRead)); sum(d.Rings[2].Held) != 2 {
		t.Errorf("of a suspended namespace: %+v", d)
	}
}

func TestASampleOfWhatComesDueIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowDue{takes: 200 * time.Millisecond}
		s := serveDue(t, slow)
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { s.due("") })
		}
		callers.Wait()
		time.Sleep(3500 * time.Millisecond)
		if s.due(""); slow.counts.Load() != 1 {
			t.Errorf("%d counts for callers within 20 times the cost", slow.counts.Load())
		}
		if s.due("?rings=4"); slow.counts.Load() != 2 {
			t.Errorf("%d counts for two views", slow.counts.Load())
		}
		time.Sleep(time.Second)
		if s.due(""); slow.counts.Load() != 3 {
			t.Errorf("%d counts after 20 times the cost", slow.counts.Load())
		}
	})
}

// The request that takes the sample can end. Another one takes it then.
func TestACallerThatLeavesDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowDue{takes: time.Second}
		s := serveDue(t, slow)
		first, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() { s.send(httptest.NewRequestWithContext(first, "GET", "http://localhost/v1/due", nil)) })
		synctest.Wait()
		callers.Go(func() {
			if d := s.due(""); len(d.Rings) != 5 {
				t.Errorf("%+v", d)
			}
		})
		synctest.Wait()
		leave()
		callers.Wait()
		if n := slow.counts.Load(); n != 2 {
			t.Errorf("%d counts", n)
		}
	})
}

func TestAnIncompleteCountNamesItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveDue(t, &slowDue{until: 10 * time.Minute})
		for _, delay := range []time.Duration{0, time.Minute, time.Hour} {
			s.add("q", delay)
		}
		d := s.due("?until=2h&step=1m")
		until, err := time.Parse(time.RFC3339, d.ExactUntil)
		now, _ := time.Parse(time.RFC3339, d.Time)
		if away := until.Sub(now); err != nil || away > 10*time.Minute || away < 9*time.Minute || d.Overdue != 1 || sum(d.Rings[0].Counts) != 1 || d.Later != 1 || d.Scheduled != 3 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestBadParametersOfACountAreRefused(t *testing.T) {
	s := serve(t)
	for query, want := range map[string][2]string{
		"rings=0": {"bad_parameter", "rings"}, "rings=6": {"bad_parameter", "rings"}, "rings=x": {"bad_parameter", "rings"},
		"until=1h": {"bad_parameter", "step"}, "step=1m": {"bad_parameter", "until"}, "rings=5&until=1h&step=1m": {"bad_parameter", "rings"},
		"until=1h&step=0s": {"out_of_range", "step"}, "until=1h&step=1500us": {"out_of_range", "step"}, "until=1m&step=1h": {"out_of_range", "until"},
		"until=1001ms&step=1ms": {"out_of_range", "step"}, "until=x&step=1m": {"bad_duration", "until"}, "until=1m&step=x": {"bad_duration", "step"},
		"queue=@": {"bad_name", "queue"}, "by=task": {"bad_parameter", "by"},
	} {
		s.do("GET", "/v1/due?"+query, "").problem(400, want[0], want[1])
	}
	if d := s.due("?until=1000ms&step=1ms"); len(d.Rings[0].Counts) != 1000 || slices.Max(d.Rings[0].Counts) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestASampleOfAStalledStoreIsReplacedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowDue{takes: 10 * time.Minute}
		s := serveDue(t, slow)
		s.due("")
		slow.takes = 0
		time.Sleep(31 * time.Second) // of the fake clock
		s.due("")
		if slow.counts.Load() != 2 {
			t.Error("the sample was used for more than 30 seconds")
		}
	})
}

// slowShared is a store of two nodes in which a count takes a while.
type slowShared struct {
	*shared
	takes time.Duration
}

func (s *slowShared) Due(ctx context.Context, r store.DueRead, found store.DueFound) (task.Millis, error) {
	time.Sleep(s.takes)
	return s.shared.Due(ctx, r, found)
}

// A count waits for the servers of a shared store, which can be far away.
func TestCountsInASharedStoreDelayNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, nodes := serveShared(t)
		s := &service{T: t, Server: api.New(api.Config{}, &slowShared{nodes, 10 * time.Second}), store: nodes.Store}
		var counts sync.WaitGroup
		for i := range 4 {
			name := fmt.Sprint("n", i)
			s.namespace(name)
			counts.Go(func() { s.due("", "Foliot-Namespace: "+name) })
		}
		synctest.Wait()
		began := time.Now()
		s.do("GET", "/v1/tasks", "").want(200, nil)
		if took := time.Since(began); took > 0 {
			t.Errorf("a list took %v", took)
		}
		counts.Wait()
	})
}
