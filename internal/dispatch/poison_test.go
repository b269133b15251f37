package dispatch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// live runs a server on s until it dies by an attempt of a task with "poison"
// in its name. It returns the store that the server leaves behind, or nil if
// the server is alive after half a minute. Other attempts take half a second.
func live(t *testing.T, s *memstore.Store) *memstore.Store {
	return liveAt(t, s, 1)
}

// liveAt is live with all durations multiplied by slower.
func liveAt(t *testing.T, s *memstore.Store, slower time.Duration) *memstore.Store {
	var dead atomic.Bool
	f := &faults{fail: func(string, int) (before, after error) {
		if dead.Load() {
			return task.ErrClosed, nil
		}
		return nil, nil
	}}
	b := newBed(t, Config{Grace: -1}, func(store.DispatchStore) store.DispatchStore { return f.over(s) },
		func(ctx context.Context, d task.Delivery) task.Outcome {
			if strings.Contains(d.Task.Name, "poison") {
				if !pause(ctx, slower*50*time.Millisecond) {
					return task.Outcome{Verdict: task.Interrupted, StartedAt: millis()}
				}
				dead.Store(true)
			}
			return after(slower*500*time.Millisecond)(ctx, d)
		})
	b.store = s
	b.start()
	for range 30 {
		if b.pass(slower * time.Second); dead.Load() {
			break
		}
	}
	if err := b.end(); (err != nil) != dead.Load() {
		t.Fatalf("Run: %v", err)
	}
	if !dead.Load() {
		return nil
	}
	l, err := s.List(t.Context(), task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 1000, Bodies: true})
	if err != nil || l.Next != "" {
		t.Fatal(err, l.Next)
	}
	return storetest.Refill(memstore.New(memstore.Config{}), millis(), storetest.Contents{Records: l.Tasks})
}

// TestATaskThatKillsTheServerDiesAndNoOther: every other attempt that is under
// way at a death is delivered in the end.
func TestATaskThatKillsTheServerDiesAndNoOther(t *testing.T) {
	host := func(i int) edit { return to(fmt.Sprint("host", i%3)) }
	for name, c := range map[string]struct {
		poison map[string]time.Duration // their due times
		edits  func(i int) edit         // of their neighbours
		deaths int
	}{
		"in one lane":                   {map[string]time.Duration{"poison": 0}, func(int) edit { return to("host") }, 10},
		"behind its neighbours":         {map[string]time.Duration{"the-poison": 0}, func(int) edit { return to("host") }, 10},
		"in other lanes":                {map[string]time.Duration{"poison": 0}, host, 10},
		"in other queues":               {map[string]time.Duration{"poison": 0}, func(i int) edit { return in(fmt.Sprint("q", i%4)) }, 10},
		"run by hand":                   {map[string]time.Duration{"poison": 0}, func(i int) edit { return priority(task.Priority(i % 3)) }, 10},
		"two of them":                   {map[string]time.Duration{"poison-1": 0, "the-poison-2": 0}, host, 17},
		"another one while it is there": {map[string]time.Duration{"poison-1": 0, "the-poison-2": 4 * time.Second}, host, 20},
		"as many as its neighbours can outlive": {
			map[string]time.Duration{"the-poison-1": 0, "the-poison-2": 3 * time.Second, "the-poison-3": 6 * time.Second},
			func(int) edit { return to("host") }, 30,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bed{t: t, store: memstore.New(memstore.Config{})}
				for poison, due := range c.poison {
					b.create(poison, due, to("host"))
				}
				for i := range 8 {
					b.create(fmt.Sprint("slow", i), 0, c.edits(i))
					b.create(fmt.Sprint("later", i), time.Duration(i)*time.Second, c.edits(i))
					if name == "run by hand" {
						b.apply(task.Run{Key: key(fmt.Sprint("slow", i))})
					}
				}
				deaths := 0
				for next := live(t, b.store); next != nil && deaths <= c.deaths; next = live(t, b.store) {
					b.store = next
					deaths++
				}
				if deaths > c.deaths || deaths < c.deaths-3 {
					t.Errorf("it died %d times, want at most %d", deaths, c.deaths)
				}
				for poison := range c.poison {
					if got := b.get(poison); got.Reason != task.ReasonReclaims {
						t.Errorf("%s is %v after %d reclaims", poison, got.State, got.Reclaims)
					}
				}
				for i := range 8 {
					b.wantState(fmt.Sprint("slow", i), task.Delivered)
					b.wantState(fmt.Sprint("later", i), task.Delivered)
				}
			})
		})
	}
}

// TestATaskThatKillsTheServerLateDiesAndNoOther: even after it released the
// quarantine slot to other tasks, which are as slow as it is but innocent.
func TestATaskThatKillsTheServerLateDiesAndNoOther(t *testing.T) {
	quick.Leave(t, "starts many servers")
	for name, host := range map[string]func(i int) edit{
		"in one lane":    func(int) edit { return to("host") },
		"in other lanes": func(i int) edit { return to(fmt.Sprint("host", i)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const slower = 3 * quarantineTime / (100 * time.Millisecond) // it kills after one and a half times quarantineTime
				b := &bed{t: t, store: memstore.New(memstore.Config{})}
				hours := func(s *task.Spec) { s.Timeout = time.Hour }
				b.create("poison", 0, to("host"), hours)
				for i := range 3 {
					b.create(fmt.Sprint("slow", i), 0, host(i), hours)
				}
				deaths := 0
				for next := liveAt(t, b.store, slower); next != nil && deaths < 3*task.MaxReclaims; next = liveAt(t, b.store, slower) {
					b.store = next
					deaths++
				}
				if got := b.get("poison"); deaths != task.MaxReclaims || got.Reason != task.ReasonReclaims {
					t.Errorf("after %d deaths the poison is %v after %d reclaims", deaths, got.State, got.Reclaims)
				}
				for i := range 3 {
					b.wantState(fmt.Sprint("slow", i), task.Delivered)
				}
			})
		})
	}
}
