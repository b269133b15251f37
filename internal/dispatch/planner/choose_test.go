package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"pgregory.net/rapid"
)

// crowded returns a planner of one slot with a backlog: each lane has each
// tasks that have long been due.
func crowded(lanes []task.Lane, each int) *Planner {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1_000_000, Slots: 1})
	for i := range each {
		for _, l := range lanes {
			pl.Hint(noon, task.Entry{Name: fmt.Sprint(l, i), Lane: l, Due: noon - 1000})
		}
	}
	return pl
}

// turnsOf takes n tasks, one after the other, and counts them by the result of
// of.
func turnsOf[K comparable](pl *Planner, n int, of func(task.Lane) K) map[K]int {
	count := map[K]int{}
	for range n {
		p := pl.Take(noon, 1)[0]
		count[of(p.lane.name)]++
		pl.Begin(&p)
		pl.Release(&p, Replied, nil)
	}
	return count
}

func TestQueuesAndNamespacesGetEqualSharesWithAnyNumberOfLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lanes []task.Lane
		spaces, queues := rapid.IntRange(1, 3).Draw(t, "namespaces"), map[string]int{}
		for s := range spaces {
			space := fmt.Sprint("ns", s)
			queues[space] = rapid.IntRange(1, 4).Draw(t, "queues")
			for q := range queues[space] {
				for h := range rapid.IntRange(1, 5).Draw(t, "hosts") {
					lanes = append(lanes, task.Lane{Namespace: space, Queue: fmt.Sprint("q", q), Priority: task.Normal, Destination: fmt.Sprint("h", h)})
				}
			}
		}
		const rounds = 5
		n := rounds * spaces * 12 // 12: every number of queues divides it
		got := turnsOf(crowded(lanes, n), n, func(l task.Lane) queueKey { return queueKey{l.Namespace, l.Queue} })
		for key, turns := range got {
			if want := n / spaces / queues[key.namespace]; turns != want {
				t.Fatalf("%v was served %d times of %d, want %d", key, turns, n, want)
			}
		}
	})
}

func TestPrioritiesOfAQueueStartInProportionToTheirStrides(t *testing.T) {
	var lanes []task.Lane
	for p := task.High; p <= task.Low; p++ {
		for h := range 3 * int(p+1) {
			lanes = append(lanes, task.Lane{Queue: "q", Priority: p, Destination: fmt.Sprint("h", h)})
		}
	}
	got := turnsOf(crowded(lanes, 600), 2100, func(l task.Lane) task.Priority { return l.Priority })
	for p, want := range map[task.Priority]int{task.High: 1600, task.Normal: 400, task.Low: 100} {
		if d := got[p] - want; d < -2 || d > 2 {
			t.Errorf("%v was served %d times, want %d", p, got[p], want)
		}
	}
}

// placeOf returns after how many picks, counted from 1, the lane has a turn.
func placeOf(pl *Planner, l task.Lane) int {
	for n := 1; ; n++ {
		p := pl.Take(noon, 1)[0]
		pl.Begin(&p)
		pl.Release(&p, Replied, nil)
		if p.lane.name == l || n > 1000 {
			return n
		}
	}
}

func TestATaskDueNowWaitsForOneRoundAndNotForBacklogs(t *testing.T) {
	busy := func(queue string, hosts int) (lanes []task.Lane) {
		for h := range hosts {
			lanes = append(lanes, task.Lane{Queue: queue, Priority: task.Normal, Destination: fmt.Sprint("h", h)})
		}
		return lanes
	}
	hint := func(pl *Planner, l task.Lane) task.Lane {
		pl.Hint(noon, task.Entry{Name: "now", Lane: l, Due: noon})
		return l
	}
	t.Run("a quiet queue among three", func(t *testing.T) {
		pl := crowded(append(append(busy("a", 50), busy("b", 1)...), busy("c", 9)...), 100)
		turnsOf(pl, 500, func(task.Lane) bool { return true })
		if n := placeOf(pl, hint(pl, task.Lane{Queue: "quiet", Priority: task.Low})); n < 3 || n > 4 {
			t.Errorf("it was the %dth", n)
		}
	})
	t.Run("a quiet namespace", func(t *testing.T) {
		pl := crowded(append(busy("a", 50), busy("b", 1)...), 100)
		turnsOf(pl, 500, func(task.Lane) bool { return true })
		if n := placeOf(pl, hint(pl, task.Lane{Namespace: "quiet", Priority: task.Low})); n > 2 {
			t.Errorf("it was the %dth", n)
		}
	})
	t.Run("a quiet destination", func(t *testing.T) {
		pl := crowded(busy("a", 9), 100)
		turnsOf(pl, 500, func(task.Lane) bool { return true })
		if n := placeOf(pl, hint(pl, task.Lane{Queue: "a", Priority: task.Normal, Destination: "quiet"})); n > 10 {
			t.Errorf("it was the %dth", n)
		}
	})
	for p, bounds := range map[task.Priority][2]int{task.RunNow: {1, 1}, task.High: {1, 10}, task.Low: {16, 18}} {
		t.Run(fmt.Sprint("priority ", p), func(t *testing.T) {
			lanes := busy("a", 9)
			for i := range lanes {
				lanes[i].Priority = task.High
			}
			pl := crowded(lanes, 100)
			turnsOf(pl, 500, func(task.Lane) bool { return true })
			l := task.Lane{Queue: "a", Priority: p, Destination: "quiet"}
			if n := placeOf(pl, hint(pl, l)); n < bounds[0] || n > bounds[1] {
				t.Errorf("it was the %dth, want one of %v", n, bounds)
			}
		})
	}
}

// TestABlockedQueueIsOneTurnAheadAtMost: a queue that was out of tokens
// for a thousand rounds is one turn before the other queues, not a thousand.
func TestABlockedQueueIsOneTurnAheadAtMost(t *testing.T) {
	lanes := []task.Lane{{Queue: "limited", Priority: task.Normal}, {Queue: "free", Priority: task.Normal}}
	pl := crowded(lanes, 2000)
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "limited", Rate: 1, Burst: 1}))
	queue := func(l task.Lane) string { return l.Queue }
	if got := turnsOf(pl, 1000, queue); got["limited"] != 1 {
		t.Fatalf("the limited queue started %d times", got["limited"])
	}
	pl.Configure(noon, nil)
	if got := turnsOf(pl, 100, queue); got["limited"] > 51 {
		t.Errorf("then it had %d turns of 100", got["limited"])
	}
}

func TestTwoPrioritiesThatShareALimitBothStartTasks(t *testing.T) {
	var lanes []task.Lane
	for _, p := range []task.Priority{task.High, task.Low} {
		lanes = append(lanes, task.Lane{Queue: "q", Priority: p, Destination: "h"})
	}
	pl := crowded(lanes, 500)
	pl.choose.slots = newSlots(64, 0)
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", PerDestination: 1}))
	got := turnsOf(pl, 340, func(l task.Lane) task.Priority { return l.Priority })
	if got[task.Low] < 19 || got[task.Low] > 21 {
		t.Errorf("low was served %d times of 340", got[task.Low])
	}
}

func TestAQueueWithARateStartsTasksInDueOrder(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 100})
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Rate: 1, Burst: 1}))
	var want []string
	for i := range 40 { // the first host has all old tasks, the second the later ones
		host := fmt.Sprint("host", i/20)
		name := fmt.Sprintf("t%02d", i)
		pl.Hint(noon, entry(host, name, noon-task.Millis(1000-i)))
		want = append(want, name)
	}
	var got []string
	for i := range want {
		pl.Tick(time.Duration(i) * time.Second)
		for _, q := range pl.queues {
			pl.Wake(&q.wakeup, noon)
		}
		got = append(got, names(pl, noon, 10)...)
		if len(got) != i+1 {
			t.Fatalf("after %d seconds %d have started", i, len(got))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the order was %v", got)
	}
}
