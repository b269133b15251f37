package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// most is how many lanes may be looked at while the lock is held once.
const most = 1000

// manyLanes is how many lanes the namespace "crowd" has in these tests: work on
// them takes several pieces.
func manyLanes() int {
	if testing.Short() {
		return 6 * most
	}
	return 100_000
}

// crowdedPlanner returns a planner in which a namespace has very many due
// lanes, each with its own destination or queue. Its window has room for as many
// tasks.
func crowdedPlanner(now task.Millis, of func(i int) task.Lane) *Planner {
	pl := New(Config{Window: 5 * time.Second, Tasks: manyLanes(), Slots: 1024})
	heads := make([]task.LaneHead, manyLanes())
	for i := range heads {
		heads[i] = task.LaneHead{Lane: of(i), Due: now}
	}
	pl.survey(now, heads)
	return pl
}

func hostOfCrowd(i int) task.Lane {
	return task.Lane{Namespace: "crowd", Queue: "q", Destination: fmt.Sprint("host", i)}
}

func queueOfCrowd(i int) task.Lane {
	return task.Lane{Namespace: "crowd", Queue: fmt.Sprint("q", i), Destination: "host"}
}

var few = task.Lane{Namespace: "few", Queue: "q", Destination: "host"}

func TestANamespaceWithManyLanesDoesNotDelayTheFirstReadOfAnother(t *testing.T) {
	const now = 1_000_000
	for name, of := range map[string]func(int) task.Lane{"hosts": hostOfCrowd, "queues": queueOfCrowd} {
		pl := crowdedPlanner(now, of)
		pl.survey(now, []task.LaneHead{{Lane: few, Due: now}})
		found := false
		for _, r := range pl.Reads(now) {
			found = found || r.Lane == few
		}
		if !found {
			t.Errorf("%s: the next Peek does not read the lane of the other namespace", name)
		}
	}
}

func TestANamespaceGetsItsShareOfAWindowThatAnotherHasFilled(t *testing.T) {
	const now = 1_000_000
	pl, window := crowdedPlanner(now, hostOfCrowd), manyLanes()
	for i := range window + window/10 {
		lane := hostOfCrowd(i % 1000)
		pl.Hint(now, task.Entry{Name: fmt.Sprint("t", i), Lane: lane, Due: now + 1000})
	}
	before := pl.window.total
	for i := range window / 5 {
		pl.Hint(now, task.Entry{Name: fmt.Sprint("t", i), Lane: few, Due: now + 1000})
	}
	if l := pl.lanes[few]; l == nil || l.order.len() < window/8 {
		t.Errorf("of %d tasks of the other namespace %d are known, while the crowd has %d", window/5, pl.window.total-before, before)
	}
}

func TestASingleNamespaceMayFillTheWindow(t *testing.T) {
	const now = 1_000_000
	pl := New(Config{Window: 5 * time.Second, Tasks: 10_000, Slots: 1024})
	for i := range 20_000 {
		pl.Hint(now, task.Entry{Name: fmt.Sprint("t", i), Lane: hostOfCrowd(i % 100), Due: now + 1000})
	}
	if pl.window.total < 9000 {
		t.Errorf("%d tasks are known, the window has room for 10,000", pl.window.total)
	}
}

// TestASurveyOfManyLanesDoesNotDelayOtherNamespaces counts the
// lanes that are checked between two releases of the lock, and the steps before
// the other namespace has been surveyed.
func TestASurveyOfManyLanesDoesNotDelayOtherNamespaces(t *testing.T) {
	const now = 1_000_000
	pl := crowdedPlanner(now, hostOfCrowd)
	pl.beginAllRounds(now, []string{"crowd", "few"})
	surveyed := 0
	for step := 1; len(pl.window.rounds) > 0; step++ {
		left := pl.namespaces["crowd"].round.lane
		pages := pl.Pages(now)
		if n := left - pl.namespaces["crowd"].round.lane; n > most {
			t.Fatalf("one step looks at %d lanes under the lock, at most %d", n, most)
		}
		shown := make([]store.LanePage, len(pages))
		for i, p := range pages {
			if p.Limit > most {
				t.Fatalf("a page has %d lanes, at most %d", p.Limit, most)
			}
			shown[i].Last = true
			if p.Namespace == "few" {
				shown[i].Heads = []task.LaneHead{{Lane: few, Due: now}}
				surveyed = step
			}
		}
		pl.AbsorbPages(now, pages, shown)
	}
	if surveyed != 1 {
		t.Errorf("the other namespace was surveyed in step %d", surveyed)
	}
}

func TestSchedulesOfAResumedNamespaceTakeTurnsWithThoseOfOthers(t *testing.T) {
	const now = 1_000_000
	pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Slots: 1024})
	for i := range manyLanes() {
		pl.Hint(now, task.Entry{Name: fmt.Sprint("@s", i), Lane: task.ScheduleLane("crowd"), Hint: task.OccurrenceEnded})
		pl.Hint(now, task.Entry{Name: fmt.Sprint("@due", i), Lane: task.ScheduleLane("crowd"), Due: now})
	}
	pl.Hint(now, task.Entry{Name: "@freed", Lane: task.ScheduleLane("few"), Hint: task.OccurrenceEnded})
	pl.Hint(now, task.Entry{Name: "@due", Lane: task.ScheduleLane("few"), Due: now})
	seen := map[task.Key]bool{}
	for _, f := range pl.TakeFires(now, fireBatch) {
		seen[f.Key] = true
	}
	for _, name := range []string{"@freed", "@due"} {
		if !seen[task.Key{Namespace: "few", Name: name}] {
			t.Errorf("%s of the other namespace is not in the first batch of %d", name, len(seen))
		}
	}
}

// TestAChangeForManyLanesIsAppliedInPieces: all lanes lead to
// one receiver, which asks for a delay. No attempt may start from then on.
func TestAChangeForManyLanesIsAppliedInPieces(t *testing.T) {
	const now = 1_000_000
	pl := crowdedPlanner(now, queueOfCrowd)
	for i := range manyLanes() {
		pl.Hint(now, task.Entry{Name: fmt.Sprint("t", i), Lane: queueOfCrowd(i), Due: now})
	}
	ready := func() (n int) {
		for _, l := range pl.lanes {
			if l.state == ready {
				n++
			}
		}
		return n
	}
	pl.Refresh(now)
	before := ready()
	pl.Slow(&Pick{lane: pl.lanes[queueOfCrowd(0)], picked: pl.monotonic}, time.Minute)
	if n := before - ready(); before != manyLanes() || n > most {
		t.Fatalf("of %d lanes that are ready %d are looked at under the lock, at most %d", before, n, most)
	}
	if picks := pl.Take(now, claimBatch); len(picks) > 0 {
		t.Errorf("%d tasks start, though their receiver wants nothing for a minute", len(picks))
	}
	for steps := 0; len(pl.updates) > 0; steps++ {
		was := ready()
		if pl.Refresh(now); was-ready() > most || steps > manyLanes() {
			t.Fatalf("in step %d %d lanes are looked at", steps, was-ready())
		}
	}
	if n := ready(); n > 0 {
		t.Errorf("%d lanes are ready in the end", n)
	}
}

// TestEachQueueHasItsTurnEvenIfTheReceiverDefersOften: the
// receiver takes a batch and then asks for a delay, each time before all lanes
// have been checked.
func TestEachQueueHasItsTurnEvenIfTheReceiverDefersOften(t *testing.T) {
	const lanes, each, batch = 4 * pieceLanes, 8, 64
	now := task.Millis(1_000_000)
	pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Slots: 1024})
	for i := range lanes * each {
		pl.Hint(now, task.Entry{Name: fmt.Sprint("t", i), Lane: queueOfCrowd(i % lanes), Due: now})
	}
	seen := map[task.Lane]bool{}
	target := pl.lanes[queueOfCrowd(0)].destination
	for range 2 * lanes / batch {
		pl.Tick(pl.monotonic + 2*time.Second)
		now = now.Add(2 * time.Second)
		pl.reopen(target) // its delay has ended
		picks := pl.Take(now, batch)
		for i := range picks {
			seen[picks[i].lane.name] = true
			pl.Release(&picks[i], Replied, nil)
		}
		pl.Slow(&Pick{lane: target.lanes[0], picked: pl.monotonic}, time.Second)
		for len(pl.updates) > 0 {
			pl.Refresh(now)
		}
	}
	if len(seen) < lanes {
		t.Errorf("tasks of %d queues of %d have started", len(seen), lanes)
	}
}
