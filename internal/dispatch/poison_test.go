package dispatch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// live runs a server on s until an attempt of a task whose name contains poison
// has killed it, and returns what it leaves behind; nil: it lives after half a
// minute. Other attempts take half a second.
func live(t *testing.T, s *memstore.Store) *memstore.Store {
	var dead atomic.Bool
	f := &faults{fail: func(string, int) (before, after error) {
		if dead.Load() {
			return task.ErrClosed, nil
		}
		return nil, nil
	}}
	b := newBed(t, Config{Grace: -1}, func(task.Queue) task.Queue { return f.over(s) },
		func(ctx context.Context, d task.Delivery) task.Outcome {
			if strings.Contains(d.Task.Name, "poison") {
				pause(ctx, 50*time.Millisecond)
				dead.Store(true)
			}
			return after(500*time.Millisecond)(ctx, d)
		})
	b.store = s
	b.start()
	for range 30 {
		if b.pass(time.Second); dead.Load() {
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
	return memstore.Restore(memstore.Config{}, millis(), memstore.Contents{Records: l.Tasks})
}

// TestATaskThatKillsTheServerDiesAlone: whatever is under way beside it at each
// death is delivered in the end.
func TestATaskThatKillsTheServerDiesAlone(t *testing.T) {
	host := func(i int) edit { return to(fmt.Sprint("host", i%3)) }
	for name, c := range map[string]struct {
		poison map[string]time.Duration // when they are due
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
