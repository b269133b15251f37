package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"pgregory.net/rapid"
)

// TestNoQueueStarvesInQuarantine: some queues have tasks in quarantine without
// end, and some of these also have routine work without end, while slots are
// short. In whatever order the attempts end, each lane has its turn.
func TestNoQueueStarvesInQuarantine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pl := New(Config{Window: 5 * time.Second, Tasks: 1_000_000, Slots: rapid.IntRange(1, 12).Draw(t, "slots")})
		var suspects []task.Lane
		most, n := 0, 0
		put := func(l task.Lane) {
			n++
			pl.destinationOf(destinationKey{l.Namespace, l.Destination}).class = proven // no other class is short
			pl.Hint(noon, task.Entry{Name: fmt.Sprint("t", n), Lane: l, Due: noon - task.Millis(n)})
		}
		queues := rapid.IntRange(1, 5).Draw(t, "queues")
		for q := range queues {
			l := task.Lane{Namespace: fmt.Sprint("ns", q%2), Queue: fmt.Sprint("q", q)}
			hosts := rapid.IntRange(1, 3).Draw(t, "hosts")
			most = max(most, hosts)
			for h := range hosts {
				l.Priority, l.Destination = task.Quarantine, fmt.Sprint("h", h)
				suspects = append(suspects, l)
				put(l)
			}
			l.Priority = task.High
			for range rapid.SampledFrom([]int{0, 20}).Draw(t, "routine") {
				put(l)
			}
		}

		through, waited := 0, map[task.Lane]int{}
		var running []Pick
		for range 500 {
			for _, p := range pl.Take(noon, 100) {
				pl.Begin(&p)
				running = append(running, p)
				put(p.lane.name) // as many wait as before
				if !p.lane.quarantined() {
					continue
				}
				through++
				for _, l := range suspects {
					waited[l]++
				}
				waited[p.lane.name] = 0
			}
			if k := count(running, inQuarantine); k > 1 {
				t.Fatalf("%d attempts in quarantine are under way", k)
			}
			for l, turns := range waited {
				if turns >= queues*most {
					t.Fatalf("%v waits while %d others had their turn", l, turns)
				}
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			p := running[i]
			running = slices.Delete(running, i, i+1)
			pl.Release(&p, Replied, nil)
		}
		if through < 500/20 { // each step ends one of at most twelve attempts; then the slot in quarantine may be free
			t.Fatalf("%d attempts went through", through)
		}
	})
}

func count(picks []Pick, is func(*Pick) bool) (n int) {
	for i := range picks {
		if is(&picks[i]) {
			n++
		}
	}
	return n
}

func TestALimitedLaneDoesNotWaitForTheQuarantineSlot(t *testing.T) {
	lane := func(queue string) task.Lane { return task.Lane{Queue: queue, Priority: task.Quarantine} }
	for name, q := range map[string]settings.QueueSettings{
		"paused": {Paused: true}, "rate": {Rate: 1, Burst: 1}, "concurrency": {Concurrency: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 8})
			q.Name = "limited"
			pl.Configure(noon, settings.NewSettings(&q))
			if name != "paused" { // use up its tokens or permits
				pl.Hint(noon, task.Entry{Name: "routine", Lane: task.Lane{Queue: "limited"}, Due: noon})
				p := pl.Take(noon, 1)[0]
				pl.Begin(&p)
			}
			pl.Hint(noon, task.Entry{Name: "stopped", Lane: lane("limited"), Due: noon - 1000})
			pl.Hint(noon, task.Entry{Name: "t", Lane: lane("free"), Due: noon})
			want(t, "in quarantine these started", names(pl, noon, 10), "t")
			pl.Configure(noon, nil)
			pl.Hint(noon, task.Entry{Name: "stopped", Lane: lane("limited"), Due: noon - 1000}) // as a read would find it
			want(t, "without the limit", names(pl, noon, 10), "stopped")
		})
	}
}

func TestAQueueWithTasksOnlyInQuarantineReportsNoLimit(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 4})
	for _, name := range []string{"a", "b"} {
		pl.Hint(noon, task.Entry{Name: name, Lane: task.Lane{Queue: "q", Priority: task.Quarantine}, Due: noon})
	}
	if n := len(pl.Take(noon, 10)); n != 1 {
		t.Fatalf("%d went through", n)
	}
	pl.Refresh(noon)
	q := pl.queues[queueKey{"", "q"}]
	if l, _ := pl.limitOf(q, noon.Time()); l != noLimit {
		t.Errorf("limited by %q", l)
	}
	pl.choose.slots.take(&destination{class: unknown})
	pl.choose.slots.take(&destination{class: unknown})
	if l, _ := pl.limitOf(q, noon.Time()); l != LimitSlots {
		t.Errorf("without a slot limited by %q", l)
	}
}
