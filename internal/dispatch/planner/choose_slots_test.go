package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

func withKinds(kinds map[string]int) *Planner {
	pl := New(Config{Window: 5 * time.Second, Tasks: 10_000, BreakAfter: 2, BreakMost: time.Minute, Handlers: 8, Kinds: kinds, Slots: 4})
	pl.Tick(0)
	return pl
}

func hintKind(pl *Planner, kind string, n int) {
	for i := range n {
		pl.Hint(noon, entry(task.KindDestination(kind), fmt.Sprint(kind, i), noon))
	}
}

func TestFailuresOfAHandlerOpenNoBreaker(t *testing.T) {
	pl := withKinds(map[string]int{"close": 0})
	hintKind(pl, "close", 50)
	for range 20 {
		picks := pl.Take(noon, 1)
		if len(picks) != 1 {
			t.Fatal("no handler starts")
		}
		pl.Release(&picks[0], Silent, nil)
	}
	for _, d := range pl.Destinations(noon.Time(), func(int) time.Time { return noon.Time() }) {
		if d.Breaker != Closed {
			t.Errorf("the breaker is %v", d.Breaker)
		}
	}
}

func TestTasksWithoutAHandlerWaitAndSaySo(t *testing.T) {
	pl := withKinds(map[string]int{"close": 0})
	hintKind(pl, "renamed", 3)
	pl.Hint(noon, task.Entry{Name: "by hand", Lane: task.Lane{Queue: "q", Priority: task.RunNow, Destination: task.KindDestination("renamed")}, Due: noon})
	if n := len(pl.Take(noon, 100)); n != 0 {
		t.Errorf("%d start", n)
	}
	states := pl.Queues(noon.Time(), func(int) time.Time { return noon.Time() })
	if len(states) != 1 || states[0].Limit != LimitRunner || states[0].Overdue != 4 {
		t.Errorf("%+v", states)
	}
}

func TestAScanForgetsGoneTasksOfAKindWithoutAHandlerAndKeepsNewOnes(t *testing.T) {
	pl := withKinds(map[string]int{"close": 0})
	of := func(name string, due task.Millis) task.Entry {
		return entry(task.KindDestination("renamed"), name, due)
	}
	for _, name := range []string{"gone", "waits"} {
		pl.Hint(noon, of(name, noon))
	}
	l := pl.lanes[of("waits", noon).Lane]
	for i, now := range []task.Millis{noon, noon.Add(rescanEvery)} {
		pl.Tick(time.Duration(i+1) * rescanEvery)
		pl.checkLane(l, now)
		reads := pl.Reads(now)
		pl.Hint(now, of("new", now)) // the store may have read before it existed
		found := make([][]task.Entry, len(reads))
		for i := range reads {
			found[i] = []task.Entry{of("waits", noon)}
		}
		pl.AbsorbReads(now, reads, found)
	}
	if l.known["gone"] != nil || l.known["waits"] == nil || l.known["new"] == nil || pl.window.total != 2 {
		t.Errorf("%d tasks are known: %v", pl.window.total, l.known)
	}
	if pl.checkLane(l, noon.Add(rescanEvery)); len(pl.Reads(noon.Add(rescanEvery))) != 0 {
		t.Error("it is scanned again at once")
	}
}

func TestKindsWithoutAHandlerTakeNoMemory(t *testing.T) {
	pl := withKinds(map[string]int{"close": 0})
	for i := range 100 {
		hintKind(pl, fmt.Sprint("k", i), 1)
	}
	if len(pl.kinds) != 1 {
		t.Errorf("%d kinds are kept", len(pl.kinds))
	}
}

// A kind that is full must cost a search nothing, however many lanes it has.
func BenchmarkTakeNextToAFullKindOfManyLanes(b *testing.B) {
	for _, lanes := range []int{1, 10_000} {
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Handlers: 128, Kinds: map[string]int{"full": 1, "free": 0}, Slots: 4})
			for i := range lanes {
				for j := range 2 {
					e := task.Entry{Name: fmt.Sprint("t", i, "-", j), Lane: task.Lane{Queue: fmt.Sprint("q", i), Destination: task.KindDestination("full")}, Due: noon}
					pl.Hint(noon, e)
				}
			}
			pl.Take(noon, 1)
			for i := 0; b.Loop(); i++ {
				pl.Hint(noon, task.Entry{Name: "free", Lane: task.Lane{Queue: "q", Destination: task.KindDestination("free")}, Due: noon})
				picks := pl.Take(noon, 256)
				if len(picks) != 1 {
					b.Fatal(len(picks))
				}
				pl.Answered(picks[0].Key)
				pl.Release(&picks[0], Replied, nil)
				pl.Reads(noon)
			}
		})
	}
}

func TestHandlersRunTheTasksOfOneNamespaceIfOneIsSet(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 10_000, Handlers: 8, Kinds: map[string]int{"close": 0}, KindsOf: "shop"})
	pl.Tick(0)
	for _, namespace := range []string{"shop", "tenant"} {
		pl.Hint(noon, task.Entry{Name: "a", Lane: task.Lane{Namespace: namespace, Queue: "q", Destination: task.KindDestination("close")}, Due: noon})
	}
	taken := pl.Take(noon, 100)
	if len(taken) != 1 || taken[0].Lane().Namespace != "shop" {
		t.Errorf("%+v", taken)
	}
}
