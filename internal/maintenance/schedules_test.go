package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// server is a store with a dispatcher and a Worker. Its clock can be set.
type server struct {
	*testing.T
	store *memstore.Store
	ahead atomic.Int64 // of the server's clock
	log   strings.Builder

	mu   sync.Mutex // guards the fields below
	came []arrival
}

// arrival is a delivery, with its time by the server's clock and by the real
// one.
type arrival struct {
	name    string
	at, our time.Time
}

func (s *server) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// inBubble runs f with a server in a bubble of fake time. A test of days needs a
// slow poll: millions of timers in one bubble can crash the race detector
// (go.dev/issue/78156).
func inBubble(t *testing.T, poll time.Duration, f func(*server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{T: t, store: memstore.New(memstore.Config{})}
		ctx, stop := context.WithCancel(context.Background())
		d := dispatch.New(dispatch.Config{Now: s.now, Poll: poll}, s.store, s.deliver)
		u := New(Config{Now: s.now, Logger: slog.New(slog.NewTextHandler(&s.log, nil))}, s.store)
		var running sync.WaitGroup
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() { u.Run(ctx) })
		synctest.Wait()
		f(s)
		stop()
		running.Wait()
	})
}

func (s *server) deliver(_ context.Context, d task.Delivery) task.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = append(s.came, arrival{d.Task.Name, s.now(), time.Now()})
	return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: task.FloorMillis(s.now())}
}

// schedule creates a schedule.
func (s *server) schedule(name string, rule recurrence.Rule) {
	s.Helper()
	spec := task.ScheduleSpec{Spec: task.DefaultSpec(), Rule: rule}
	spec.Name, spec.ID, spec.Request.URL = name, name, "https://receiver.example/"
	spec.Rule.CatchupWindow, spec.Rule.CatchupLimit = recurrence.DefaultCatchupWindow, recurrence.DefaultCatchupLimit
	now := task.CeilMillis(s.now())
	fatal.If(s, spec.Validate(now))
	replies, err := s.store.Transit(s.Context(), now, store.Changes([]task.Change{task.PutSchedule{Spec: spec}}))
	if err != nil || replies[0].Err != nil {
		s.Fatal(err, replies[0].Err)
	}
}

// set sets the clock and waits until the server noticed.
func (s *server) set(by time.Duration) {
	s.ahead.Add(int64(by))
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// instants returns how many instants came since a time of the real clock. It
// checks that none came twice or early.
func (s *server) instants(since time.Time) (n int) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for _, a := range s.came {
		_, at, ok := task.OccurrenceOf(a.name)
		if !ok || seen[a.name] || a.at.Before(at.Time()) {
			s.Errorf("%s came at %v: twice, or early", a.name, a.at)
		}
		seen[a.name] = true
		if !a.our.Before(since) {
			n++
		}
	}
	return n
}

func TestAClockThatIsSetBackFreezesNoScheduleAndRepeatsNone(t *testing.T) {
	inBubble(t, time.Second, func(s *server) {
		s.schedule("every", recurrence.Rule{Every: 5 * time.Second, Start: task.CeilMillis(time.Now().Add(-24 * time.Hour))})
		s.schedule("cron", recurrence.Rule{Cron: "* * * * *", Zone: "Europe/Berlin"})
		time.Sleep(10*time.Minute + time.Second)
		if n := s.instants(time.Time{}); n != 120+10 {
			t.Fatalf("%d instants in ten minutes", n)
		}
		set := time.Now()
		s.set(-time.Hour)
		time.Sleep(49 * time.Minute) // these instants were never fired
		if n := s.instants(set); n < 49*13 || n > 50*13 {
			t.Errorf("%d instants in the first 49 minutes, want some %d", n, 49*13)
		}
		fired := time.Now().Add(2 * time.Minute)
		time.Sleep(10 * time.Minute)
		if n := s.instants(fired); n > 13 {
			t.Errorf("%d instants in the ten minutes that were fired before", n)
		}
		on := time.Now()
		time.Sleep(10 * time.Minute)
		if n := s.instants(on); n < 9*13 {
			t.Errorf("%d instants in the next ten minutes", n)
		}
		if !strings.Contains(s.log.String(), "by=-1h0m0s") || !strings.Contains(s.log.String(), "schedules=2") {
			t.Errorf("the log does not report the step:\n%s", s.log.String())
		}
		if log, err := s.store.Audit(t.Context(), settings.AuditFilter{}, 0, 10); err != nil || len(log.Entries) != 0 {
			t.Errorf("the audit log has %+v, %v", log, err)
		}
	})
}

func TestAClockThatIsSetAheadFiresMissedInstantsOnceAndGoesOn(t *testing.T) {
	inBubble(t, time.Second, func(s *server) {
		s.schedule("every", recurrence.Rule{Every: 5 * time.Second})
		s.schedule("nightly", recurrence.Rule{Cron: "0 21 * * *", Zone: "UTC"})
		time.Sleep(10*time.Minute + time.Second)
		set := time.Now()
		s.set(time.Hour)
		if n := s.instants(set); n != 1 {
			t.Errorf("%d instants for the hour, want the latest", n)
		}
		time.Sleep(time.Minute)
		if n := s.instants(set); n != 13 {
			t.Errorf("%d instants after a minute, want 12 more", n)
		}
	})
}

// A failed round is repeated soon: until a round succeeds, schedules may not
// fire after a step of the clock.
func TestARoundThatFailedIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &failsOnce{Store: memstore.New(memstore.Config{})}
		run(t, Config{}, s)
		time.Sleep(2 * roundAgain)
		if n := s.rounds.Load(); n != 2 {
			t.Errorf("%d rounds were begun", n)
		}
	})
}

// failsOnce fails the first round.
type failsOnce struct {
	*memstore.Store
	rounds atomic.Int32
}

func (f *failsOnce) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	if f.rounds.Add(1) == 1 {
		return nil, errors.New("not now")
	}
	return f.Store.Counts(ctx)
}

// pages counts the listings.
type pages struct {
	*memstore.Store
	n int
}

func (p *pages) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	p.n++
	return p.Store.List(ctx, f, page)
}

// The number of tasks does not matter. The name of an unnamed task is its id,
// which sorts before all schedules.
func TestARoundReadsSchedulesAlone(t *testing.T) {
	s := &pages{Store: memstore.New(memstore.Config{})}
	add(t, s, "0", task.MaxPageExamined+1)
	add(t, s, "x", task.MaxPageExamined+1)
	(&server{T: t, store: s.Store}).schedule("nightly", recurrence.Rule{Every: time.Hour})
	if err := New(Config{}, s).checkAll(t.Context()); err != nil || s.n != 1 {
		t.Errorf("it took %d pages to find one schedule, error %v", s.n, err)
	}
}
