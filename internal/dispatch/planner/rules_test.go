package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Values that the planner's caller uses: the batch sizes of claims and of
// fires, and the rest of a receiver to which no request could be sent.
const (
	claimBatch  = 256
	fireBatch   = 128
	unsentPause = 250 * time.Millisecond
)

// noon is any instant.
const noon task.Millis = 1_000_000_000

func laneOf(host string) task.Lane { return task.Lane{Queue: "q", Destination: host} }

func entry(host, name string, due task.Millis) task.Entry {
	return task.Entry{Name: name, Lane: laneOf(host), Due: due}
}

// names returns the names of the tasks taken at now, and gives the slots back.
func names(pl *Planner, now task.Millis, limit int) []string {
	var names []string
	for _, p := range pl.Take(now, limit) {
		names = append(names, p.Key.Name)
		pl.Begin(&p)
		defer pl.Release(&p, Nothing, nil)
	}
	return names
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestNothingIsPickedEarlyWhenTheClockStepsBack(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
	pl.Hint(noon, entry("host", "t", noon))
	want(t, "a second before", names(pl, noon-1000, 10))
	want(t, "at its time", names(pl, noon, 10))
	for _, l := range pl.lanes { // the timer that was set for it fires
		pl.Wake(&l.wakeup, noon)
	}
	want(t, "after the wakeup", names(pl, noon, 10), "t")
}

// The lane of a task is ready. Before the claim, the task is moved, or the clock is
// set back: the task is picked at its due time, and not before.
func TestATaskOfAReadyLaneIsNotPickedEarly(t *testing.T) {
	for about, change := range map[string]func(pl *Planner) (now task.Millis){
		"the task was moved":     func(pl *Planner) task.Millis { pl.Hint(noon, entry("host", "t", noon+1000)); return noon },
		"the clock was set back": func(*Planner) task.Millis { return noon - 1000 },
	} {
		pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
		pl.Hint(noon, entry("host", "t", noon))
		if !pl.Refresh(noon).Claim {
			t.Fatal("the lane is not ready")
		}
		now := change(pl)
		want(t, about, names(pl, now, 10))
		for _, l := range pl.lanes {
			pl.Wake(&l.wakeup, now+1000)
		}
		want(t, about+", at its time", names(pl, now+1000, 10), "t")
	}
}

func TestATimerThatFiresTooEarlyIsSetAgain(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
	pl.Hint(noon-1000, entry("host", "t", noon))
	armed := pl.Refresh(noon - 1000).Wakeups
	if len(armed) != 1 || armed[0].Wall != noon {
		t.Fatalf("armed: %v", armed)
	}
	pl.Wake(armed[0], noon-500)
	if again := pl.Refresh(noon - 500).Wakeups; len(again) != 1 || again[0].Wall != noon {
		t.Fatalf("armed again: %v", again)
	}
}

func TestAfterTheClockSteppedBackTheWindowEndsEarlier(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
	pl.check(noon)
	pl.survey(noon, []task.LaneHead{{Lane: laneOf("host"), Due: noon + 4000}})
	reads := pl.Reads(noon)
	pl.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "known", noon+4000)}})

	back := noon - 3_600_000
	pl.check(back)
	if pl.window.total != 0 {
		t.Errorf("%d tasks are known beyond the window", pl.window.total)
	}
	pl.Hint(back, entry("host", "new", back+60_000)) // beyond the window, and before the part that was read
	later := back + 58_000
	pl.check(later)
	pl.survey(later, []task.LaneHead{{Lane: laneOf("host"), Due: back + 60_000}})
	reads = pl.Reads(later)
	if len(reads) != 1 || reads[0].scan {
		t.Fatalf("reads: %+v", reads)
	}
	pl.AbsorbReads(later, reads, [][]task.Entry{{entry("host", "new", back+60_000)}})
	if pl.window.total != 1 {
		t.Errorf("%d tasks are known, want the new one", pl.window.total)
	}
}

func TestAReadBeforeAHintDoesNotUndoIt(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
	pl.survey(noon, []task.LaneHead{{Lane: laneOf("host"), Due: noon + 1000}})
	reads := pl.Reads(noon)
	pl.Hint(noon, entry("host", "t", noon+3000)) // moved during the read
	pl.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "t", noon+1000)}})
	if due := pl.lanes[laneOf("host")].earliest(); due != noon+3000 {
		t.Errorf("it is known for %d ms from now", due-noon)
	}
}

func TestAReadBeforeAClaimDoesNotRestoreItsTask(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
	stale := func(answer bool) int {
		pl.Hint(noon, entry("host", "t", noon))
		l := pl.lanes[laneOf("host")]
		l.cursor, l.scan = task.Position{Due: noon + 1}, true
		pl.window.requestRead(l, l.next())
		reads := pl.Reads(noon)
		p := pl.Take(noon, 1)[0]
		if answer {
			pl.Answered(p.Key)
		}
		pl.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "t", noon)}, nil}[:len(reads)])
		pl.Release(&p, Nothing, nil)
		pl.Answered(p.Key)
		return pl.window.total
	}
	for _, answer := range []bool{false, true} {
		if n := stale(answer); n != 0 {
			t.Errorf("claim answered before the read %v: %d tasks are known", answer, n)
		}
	}
	if pl.Reads(noon); len(pl.window.taken) != 0 {
		t.Errorf("%d picks are remembered", len(pl.window.taken))
	}
}

func TestEarlierTasksReplaceHintsBeyondTheCursor(t *testing.T) {
	pl := New(Config{Window: 10 * time.Second, Tasks: 3000, Slots: 10})
	for i := range 700 { // these came as hints; the other tasks were read up to noon
		pl.Hint(noon, entry("host", fmt.Sprintf("late%03d", i), noon+9000))
	}
	l := pl.lanes[laneOf("host")]
	l.cursor = task.Position{Due: noon}
	full := make([]task.Entry, farChunk)
	for i := range full {
		full[i] = entry("host", fmt.Sprintf("soon%03d", i), noon+1000)
	}
	pl.AbsorbReads(noon, []Read{{
		LaneRead: store.LaneRead{Lane: l.name, After: l.cursor, Until: noon + 10_000, Limit: farChunk}, lane: l,
	}}, [][]task.Entry{full})
	for name := range l.known {
		if name[:4] != "soon" {
			t.Fatalf("%s takes the room of earlier tasks", name)
		}
	}
	if !l.needsRead || !l.skips(task.Position{Due: noon + 9000}) {
		t.Error("the rest will not be read")
	}
}

func TestALaneWithoutRepliesLosesItsAllowance(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 10_000, Slots: 1024})
	for i := range 3000 {
		pl.Hint(noon, entry("host", fmt.Sprint("t", i), noon))
	}
	l := pl.lanes[laneOf("host")]
	picks := pl.Take(noon, 1000)
	if base := pl.choose.slots.base(); len(picks) != base+(768-base-672)/2 {
		t.Errorf("a lane of which nothing is known takes %d slots", len(picks))
	}
	end := func(e Evidence) {
		pl.Release(&picks[0], e, nil)
		picks = append(picks[1:], pl.Take(noon, 1000)...)
	}
	for running := 0; l.running > running; { // one round of replies
		running = l.running
		for range running {
			end(Replied)
		}
	}
	if l.running != pl.choose.slots.most(proven) {
		t.Errorf("a lane that replies takes %d slots", l.running)
	}
	for range 20 {
		end(Silent)
	}
	if l.allowance != 1 {
		t.Errorf("after 20 silent attempts its allowance is %d", l.allowance)
	}
	end(Replied)
	if l.allowance < pl.choose.slots.base() {
		t.Errorf("after a reply its allowance is %d", l.allowance)
	}
}

// TestALostWakeupDelaysATaskByAPollAndLosesNone: no timer fires, and only the
// poll finds the tasks.
func TestALostWakeupDelaysATaskByAPollAndLosesNone(t *testing.T) {
	limits := map[string]*settings.QueueSettings{
		"rate":   {Rate: 1, Burst: 1},
		"pause":  {Paused: true, PausedUntil: noon + 900},
		"delays": {},
	}
	for name, q := range limits {
		t.Run(name, func(t *testing.T) {
			pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
			q.Name = "q"
			pl.Configure(noon, settings.NewSettings(q))
			pl.Hint(noon, entry("host", "t0", noon))
			pl.Hint(noon, entry("host", "t1", noon))
			names(pl, noon, 1)
			if name == "delays" {
				pl.Slow(&Pick{lane: pl.lanes[laneOf("host")], picked: pl.monotonic}, time.Second)
			}
			want(t, "before", names(pl, noon, 10))
			pl.Tick(time.Second)
			pl.check(noon + 1000)
			if name == "pause" {
				pl.survey(noon+1000, []task.LaneHead{{Lane: laneOf("host"), Due: noon}})
				pl.AbsorbReads(noon+1000, pl.Reads(noon+1000), [][]task.Entry{{entry("host", "t1", noon)}})
			}
			want(t, "after a poll", names(pl, noon+1000, 10), "t1")
		})
	}
}

func TestAReadDuringAPauseOfItsQueueIsDiscarded(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, Slots: 10})
	pl.survey(noon, []task.LaneHead{{Lane: laneOf("host"), Due: noon}})
	reads := pl.Reads(noon)
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Paused: true}))
	pl.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "t", noon)}})
	pl.Hint(noon, entry("host", "t2", noon))
	pl.Hint(noon, entry("new", "t3", noon))
	if want(t, "while it is paused", names(pl, noon, 10)); pl.window.total != 0 || len(pl.lanes) != 1 {
		t.Errorf("%d tasks of %d lanes are known", pl.window.total, len(pl.lanes))
	}
}

func TestTheStateOfABrokenHostWithoutTasksIsRemoved(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000, BreakAfter: 1, BreakMost: time.Minute, Slots: 10})
	pl.Tick(time.Second)
	pl.Hint(noon, entry("host", "t", noon))
	p := pl.Take(noon, 1)[0]
	pl.Begin(&p)
	pl.Release(&p, Silent, nil)
	if pl.limits.broken != 1 {
		t.Fatalf("%d breakers are open", pl.limits.broken)
	}
	pl.check(noon)
	pl.Tick(rememberDestination)
	if pl.check(noon); len(pl.destinations) != 1 {
		t.Error("it was forgotten early")
	}
	pl.Tick(rememberDestination + 2*time.Second)
	if pl.check(noon); len(pl.destinations) != 0 || pl.limits.broken != 0 || len(pl.queues) != 0 || len(pl.namespaces) != 0 {
		t.Errorf("%d targets, %d breakers, %d queues and %d namespaces are left", len(pl.destinations), pl.limits.broken, len(pl.queues), len(pl.namespaces))
	}
}

// TestOnePeekReadsManyLanes: if there are as many hosts as tasks, they would
// wait for a Peek for every few lanes, each behind a sync of the store.
func TestOnePeekReadsManyLanes(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Slots: 1024})
	now := task.Millis(1_000_000)
	var heads []task.LaneHead
	for i := range 1000 {
		heads = append(heads, task.LaneHead{Lane: task.Lane{Destination: fmt.Sprint("host", i)}, Due: now})
	}
	pl.survey(now, heads)
	if n := len(pl.Reads(now)); n < 200 {
		t.Errorf("a Peek reads %d of 1000 lanes", n)
	}
}

func TestALaneCountsOverdueTasks(t *testing.T) {
	for n := range 60 {
		l := &lane{}
		const now = task.Millis(1000)
		want, oldest := 0, time.Duration(0)
		for i := range n {
			due := task.Millis(rand.IntN(2000))
			l.order.push(&item{name: fmt.Sprint(i), due: due})
			if due <= now {
				want, oldest = want+1, max(oldest, now.Sub(due))
			}
		}
		if got, since := l.overdue(now); got != want || since != oldest {
			t.Fatalf("of %d: %d overdue for %v, want %d for %v", n, got, since, want, oldest)
		}
	}
}
