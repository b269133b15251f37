package rings

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

// waiting is a task of the naive model.
type waiting struct {
	queue string
	due   task.Millis
	held  bool
}

// naive counts tasks slot by slot, as the documentation of the route says.
func naive(now, exact task.Millis, r Ring, tasks []waiting, of func(waiting) bool) []int64 {
	slots := make([]int64, r.Slots)
	for i := range slots {
		begin := max(now+1, r.From+task.Millis(i)*r.Slot)
		end := r.From + task.Millis(i+1)*r.Slot
		for _, w := range tasks {
			if of(w) && begin <= w.due && w.due < min(end, exact) {
				slots[i]++
			}
		}
	}
	return slots
}

// count counts tasks as a store does: each one once.
func count(now task.Millis, all []Ring, tasks []waiting) *counters {
	t := NewCounters(now, all, true)
	for _, w := range tasks {
		if i := slices.IndexFunc(t.Bounds, func(b task.Millis) bool { return w.due < b }); i >= 0 {
			t.Add(task.QueueKey{Namespace: "acme", Queue: w.queue}, w.held, i, 1)
		}
	}
	return t
}

func TestEverySlotHasTheTasksThatAreDueInIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := task.Millis(rapid.Int64Range(1, 1<<42).Draw(t, "now"))
		all := Wheel(now, rapid.IntRange(1, MaxRings).Draw(t, "rings"))
		if rapid.Bool().Draw(t, "timeline") {
			all = []Ring{New(now, task.Millis(rapid.Int64Range(1, 100_000).Draw(t, "step")), rapid.IntRange(1, 100).Draw(t, "steps"))}
		}
		tasks := rapid.SliceOf(rapid.Custom(func(t *rapid.T) waiting {
			away := rapid.Int64Range(-2, 1<<rapid.IntRange(1, 38).Draw(t, "bits")).Draw(t, "away")
			return waiting{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "queue"), now + task.Millis(away), rapid.Bool().Draw(t, "held")}
		})).Draw(t, "tasks")
		counted := count(now, all, tasks)
		exact := counted.Bounds[len(counted.Bounds)-1]
		if rapid.Bool().Draw(t, "early") {
			exact = now + task.Millis(rapid.Int64Range(1, int64(exact-now)).Draw(t, "exact"))
		}
		c := counted.Counts(exact)
		if c.Exact > exact || !slices.Contains(counted.Bounds, c.Exact) {
			t.Fatalf("exact until %d, but they are complete until %d", c.Exact, exact)
		}
		var overdue, future int64
		for _, w := range tasks {
			switch {
			case w.due <= now:
				overdue++
			case w.due < c.Exact:
				future++
			}
		}
		if c.Overdue != overdue || c.Future != future {
			t.Errorf("%d overdue and %d later, want %d and %d", c.Overdue, c.Future, overdue, future)
		}
		for i, got := range c.Rings {
			if got.From > now || now >= got.From+got.Slot || got.From%got.Slot != 0 {
				t.Errorf("ring %d begins at %d with slots of %d", i, got.From, got.Slot)
			}
			same(t, got.All, naive(now, c.Exact, got.Ring, tasks, func(waiting) bool { return true }))
			held := naive(now, c.Exact, got.Ring, tasks, func(w waiting) bool { return w.held })
			if got.Held == nil {
				got.Held = make([]int64, got.Slots)
			}
			same(t, got.Held, held)
			for _, q := range got.Queues {
				same(t, q.Slots, naive(now, c.Exact, got.Ring, tasks, func(w waiting) bool { return w.queue == q.Queue }))
			}
		}
	})
}

func same(t *rapid.T, got, want []int64) {
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOnlyTheLargestQueuesHaveCounts(t *testing.T) {
	c := NewCounters(1000, Wheel(1000, 1), true)
	for i := range 30 {
		c.Add(task.QueueKey{Namespace: "acme", Queue: fmt.Sprintf("q%02d", i)}, false, 1, 1+i)
	}
	queues := c.Counts(c.Bounds[len(c.Bounds)-1]).Rings[0].Queues
	if len(queues) != maxQueues || queues[0].Queue != "q29" || queues[maxQueues-1].Queue != "q10" {
		t.Errorf("%+v", queues)
	}
}

// If a store stopped among the overdue tasks, no slot has a number, and the
// number of overdue tasks is that of the tasks found.
func TestACountThatEndsEarlyFillsNoSlot(t *testing.T) {
	c := NewCounters(1000, Wheel(1000, 2), true)
	c.Add(task.QueueKey{}, true, 0, 5)
	c.Add(task.QueueKey{}, true, 1, 7)
	got := c.Counts(900)
	if got.Exact != 900 || got.Overdue != 5 || got.Future != 0 || slices.Max(got.Rings[1].All) != 0 || got.Rings[0].Held != nil || got.Rings[0].Queues != nil {
		t.Errorf("%+v", got)
	}
}
