package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// What the goroutines around a planner use: the sizes of a batch of claims and of
// fires, and the rest of a receiver to which nothing could be sent.
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

// names returns what is taken at now, and gives the slots back.
func names(a *Planner, now task.Millis, limit int) []string {
	var names []string
	for _, p := range a.Take(now, limit) {
		names = append(names, p.Key.Name)
		a.Begin(&p)
		defer a.Release(&p, now, Nothing, nil)
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
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
	a.Hint(noon, entry("host", "t", noon))
	want(t, "a second before", names(a, noon-1000, 10))
	want(t, "at its time", names(a, noon, 10))
	for _, l := range a.lanes { // the timer that was set for it fires
		a.Wake(&l.wakeup, noon)
	}
	want(t, "after the ring", names(a, noon, 10), "t")
}

func TestATimerThatRingsTooEarlyIsSetAgain(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
	a.Hint(noon-1000, entry("host", "t", noon))
	armed := a.Wakeups()
	if len(armed) != 1 || armed[0].Wall != noon {
		t.Fatalf("armed: %v", armed)
	}
	a.Wake(armed[0], noon-500)
	if again := a.Wakeups(); len(again) != 1 || again[0].Wall != noon {
		t.Fatalf("armed again: %v", again)
	}
}

func TestAfterTheClockSteppedBackTheWindowEndsEarlier(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
	a.check(noon)
	a.survey(noon, []task.LaneHead{{Lane: laneOf("host"), Due: noon + 4000}})
	reads := a.Reads(noon)
	a.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "known", noon+4000)}})

	back := noon - 3_600_000
	a.check(back)
	if a.total != 0 {
		t.Errorf("%d tasks are known beyond the window", a.total)
	}
	a.Hint(back, entry("host", "new", back+60_000)) // beyond the window, and before what was read
	later := back + 58_000
	a.check(later)
	a.survey(later, []task.LaneHead{{Lane: laneOf("host"), Due: back + 60_000}})
	reads = a.Reads(later)
	if len(reads) != 1 || reads[0].scan {
		t.Fatalf("reads: %+v", reads)
	}
	a.AbsorbReads(later, reads, [][]task.Entry{{entry("host", "new", back+60_000)}})
	if a.total != 1 {
		t.Errorf("%d tasks are known, want the new one", a.total)
	}
}

func TestAReadThatIsOlderThanAHintDoesNotUndoIt(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
	a.survey(noon, []task.LaneHead{{Lane: laneOf("host"), Due: noon + 1000}})
	reads := a.Reads(noon)
	a.Hint(noon, entry("host", "t", noon+3000)) // moved while the read was under way
	a.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "t", noon+1000)}})
	if due := a.lanes[laneOf("host")].earliest(); due != noon+3000 {
		t.Errorf("it is known for %d ms from now", due-noon)
	}
}

func TestAReadThatIsOlderThanAClaimDoesNotBringItBack(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
	stale := func(answer bool) int {
		a.Hint(noon, entry("host", "t", noon))
		l := a.lanes[laneOf("host")]
		l.cursor, l.scan = task.Position{Due: noon + 1}, true
		a.requestRead(l, l.next())
		reads := a.Reads(noon)
		p := a.Take(noon, 1)[0]
		if answer {
			a.Answered(p.Key)
		}
		a.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "t", noon)}, nil}[:len(reads)])
		a.Release(&p, noon, Nothing, nil)
		a.Answered(p.Key)
		return a.total
	}
	for _, answer := range []bool{false, true} {
		if n := stale(answer); n != 0 {
			t.Errorf("claim answered before the read %v: %d tasks are known", answer, n)
		}
	}
	if a.Reads(noon); len(a.taken) != 0 {
		t.Errorf("%d picks are remembered", len(a.taken))
	}
}

func TestLanesWithABacklogTakeTurns(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 100)
	for i := range 3 {
		for j, host := range []string{"a", "b"} {
			a.Hint(noon, entry(host, fmt.Sprint(host, i), noon-task.Millis(100_000-1000*i+10_000*j)))
		}
	}
	a.Hint(noon, entry("c", "c0", noon-1))
	want(t, "the order", names(a, noon, 10), "b0", "a0", "c0", "b1", "a1", "b2", "a2")
}

func TestHintsBeyondTheCursorGiveWayToWhatIsEarlier(t *testing.T) {
	a := New(Config{Window: 10 * time.Second, Tasks: 3000}, 10)
	for i := range 700 { // these came as hints; the rest was read up to noon
		a.Hint(noon, entry("host", fmt.Sprintf("late%03d", i), noon+9000))
	}
	l := a.lanes[laneOf("host")]
	l.cursor = task.Position{Due: noon}
	full := make([]task.Entry, farChunk)
	for i := range full {
		full[i] = entry("host", fmt.Sprintf("soon%03d", i), noon+1000)
	}
	a.AbsorbReads(noon, []Read{{
		LaneRead: task.LaneRead{Lane: l.name, After: l.cursor, Until: noon + 10_000, Limit: farChunk}, lane: l,
	}}, [][]task.Entry{full})
	for name := range l.known {
		if name[:4] != "soon" {
			t.Fatalf("%s stands in the way of what is earlier", name)
		}
	}
	if !l.needsRead || !l.left(task.Position{Due: noon + 9000}) {
		t.Error("the rest will not be read")
	}
}

func TestSilenceCostsALaneItsAllowance(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 10_000}, 1024)
	for i := range 3000 {
		a.Hint(noon, entry("host", fmt.Sprint("t", i), noon))
	}
	l := a.lanes[laneOf("host")]
	picks := a.Take(noon, 1000)
	if base := a.slots.base(); len(picks) != base+(768-base-672)/2 {
		t.Errorf("a lane of which nothing is known takes %d slots", len(picks))
	}
	end := func(e Evidence) {
		a.Release(&picks[0], noon, e, nil)
		picks = append(picks[1:], a.Take(noon, 1000)...)
	}
	for running := 0; l.running > running; { // a round of replies
		running = l.running
		for range running {
			end(Replied)
		}
	}
	if l.running != a.slots.most() {
		t.Errorf("a lane that replies takes %d slots", l.running)
	}
	for range 20 {
		end(Silent)
	}
	if l.allowance != 1 {
		t.Errorf("after 20 silent attempts its allowance is %d", l.allowance)
	}
	end(Replied)
	if l.allowance < a.slots.base() {
		t.Errorf("after a reply its allowance is %d", l.allowance)
	}
}

// TestALostWakeupCostsAPollAndNotATask: no timer fires; the poll alone finds out.
func TestALostWakeupCostsAPollAndNotATask(t *testing.T) {
	limits := map[string]*task.QueueSettings{
		"rate":   {Rate: 1, Burst: 1},
		"pause":  {Paused: true, PausedUntil: noon + 900},
		"wishes": {},
	}
	for name, q := range limits {
		t.Run(name, func(t *testing.T) {
			a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
			q.Name = "q"
			a.Configure(noon, task.NewSettings(q))
			a.Hint(noon, entry("host", "t0", noon))
			a.Hint(noon, entry("host", "t1", noon))
			names(a, noon, 1)
			if name == "wishes" {
				a.Slow(&Pick{lane: a.lanes[laneOf("host")], picked: a.monotonic}, noon, time.Second)
			}
			want(t, "before", names(a, noon, 10))
			a.Tick(time.Second)
			a.check(noon + 1000)
			if name == "pause" {
				a.survey(noon+1000, []task.LaneHead{{Lane: laneOf("host"), Due: noon}})
				a.AbsorbReads(noon+1000, a.Reads(noon+1000), [][]task.Entry{{entry("host", "t1", noon)}})
			}
			want(t, "after a poll", names(a, noon+1000, 10), "t1")
		})
	}
}

func TestAReadThatWasUnderWayWhenItsQueueWasPausedIsNotTakenIn(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000}, 10)
	a.survey(noon, []task.LaneHead{{Lane: laneOf("host"), Due: noon}})
	reads := a.Reads(noon)
	a.Configure(noon, task.NewSettings(&task.QueueSettings{Name: "q", Paused: true}))
	a.AbsorbReads(noon, reads, [][]task.Entry{{entry("host", "t", noon)}})
	a.Hint(noon, entry("host", "t2", noon))
	a.Hint(noon, entry("new", "t3", noon))
	if want(t, "while it is paused", names(a, noon, 10)); a.total != 0 || len(a.lanes) != 1 {
		t.Errorf("%d tasks of %d lanes are known", a.total, len(a.lanes))
	}
}

func TestABrokenHostWithoutTasksIsForgotten(t *testing.T) {
	a := New(Config{Window: 5 * time.Second, Tasks: 1000, BreakAfter: 1, BreakMost: time.Minute}, 10)
	a.Tick(time.Second)
	a.Hint(noon, entry("host", "t", noon))
	p := a.Take(noon, 1)[0]
	a.Begin(&p)
	a.Release(&p, noon, Silent, nil)
	if a.broken != 1 {
		t.Fatalf("%d breakers are open", a.broken)
	}
	a.check(noon)
	a.Tick(rememberDestination)
	if a.check(noon); len(a.destinations) != 1 {
		t.Error("it was forgotten early")
	}
	a.Tick(rememberDestination + 2*time.Second)
	if a.check(noon); len(a.destinations) != 0 || a.broken != 0 || len(a.queues) != 0 || len(a.namespaces) != 0 {
		t.Errorf("%d targets, %d breakers, %d queues and %d namespaces are left", len(a.destinations), a.broken, len(a.queues), len(a.namespaces))
	}
}
