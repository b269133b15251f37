package planner

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/task"
)

func (w *world) step() {
	edits := []func(){w.create, w.move, w.cancel, w.settle, w.end}
	edit := func() { edits[w.rnd.IntN(len(edits))]() }
	switch w.rnd.IntN(14) {
	case 0, 1, 2, 3:
		edit()
	case 4, 5:
		w.take(1 + w.rnd.IntN(30))
	case 6:
		w.poll(func() {})
	case 7:
		w.poll(w.meanwhile(edit))
	case 8:
		w.reads(w.meanwhile(edit))
	case 9:
		w.pass(w.rnd.IntN(1000))
	case 10:
		w.settle()
	case 11:
		w.disturb()
	case 12:
		w.decide()
	case 13:
		w.fire(1 + w.rnd.IntN(30))
	}
	w.work()
	if w.survey && w.lossy == 0 {
		w.survey = false
		w.poll(func() {})
		w.work()
	}
}

// meanwhile returns the edits made while reads are under way. If no hint is
// lost, these edits only create tasks: for a while the planner may know a task
// that was moved or claimed by its old state.
func (w *world) meanwhile(edit func()) func() {
	if w.lossy == 0 {
		return w.create
	}
	return edit
}

func (w *world) disturb() {
	switch {
	case w.chance(0.3) && len(w.picks) > 0:
		w.planner.Slow(&Pick{lane: w.picks[0].lane, picked: w.planner.monotonic}, time.Duration(w.rnd.IntN(5000))*time.Millisecond)
	case w.chance(0.3) && len(w.picks) > 0:
		w.planner.Rest(w.picks[0], unsentPause)
	case w.lossy > 0 && w.chance(0.3):
		w.planner.check(w.now) // the clock steps once between two polls
		w.now += task.Millis(w.rnd.IntN(7_200_000) - 3_600_000)
		w.planner.check(w.now)
	}
}

// verify checks the invariants.
func (w *world) verify() {
	if n := w.count(inQuarantine); n > 1 || w.planner.choose.quarantine.taken != (n == 1) {
		w.Fatalf("of quarantine %d attempts are under way, and its slot is taken: %v", n, w.planner.choose.quarantine.taken)
	}
	total, running := 0, 0
	for _, l := range w.planner.lanes {
		total += l.order.len()
		running += l.running
		if len(l.known) != l.order.len() {
			w.Fatalf("%v knows %d and has %d in order", l.name, len(l.known), l.order.len())
		}
		stands := l.node.inTree
		if l.schedules() {
			stands = l.firing && l.state == ready // a lane that is no longer ready may stay in the list until it is checked
		}
		if (l.state == ready) != stands || l.firing != slices.Contains(w.planner.firing, l) || l.wakeup.Wall != 0 && l.state != waiting {
			w.Fatalf("%v is in state %d", l.name, l.state)
		}
	}
	for _, l := range w.planner.firing {
		if w.planner.lanes[l.name] != l {
			w.Fatalf("%v is to be fired, and was dropped", l.name)
		}
	}
	if w.lossy == 0 {
		w.verifyKnown()
		w.verifyMarks()
	}
	s := &w.planner.choose.slots
	if total != w.planner.window.total || running != len(w.picks) || running+s.free+s.freeHandlers() != s.all+s.handlers || s.free < 0 || s.freeHandlers() < 0 {
		w.Fatalf("total %d of %d, running %d of %d, free %d and %d", w.planner.window.total, total, running, len(w.picks), s.free, s.freeHandlers())
	}
	for name, k := range w.planner.kinds {
		if n := w.count(func(p *Pick) bool { return task.KindOf(p.lane.name.Destination) == name }); n != k.running || k.atOnce > 0 && n > k.atOnce {
			w.Fatalf("%d of kind %s run, %d are counted, at most %d may", n, name, k.running, k.atOnce)
		}
	}
	if limit := w.planner.config.Tasks + reserve*len(w.planner.lanes) + peekChunk; total > limit {
		w.Fatalf("%d tasks are known, want at most %d", total, limit)
	}
}

// verifyKnown checks that no hint was lost, and that none was useless.
func (w *world) verifyKnown() {
	for k, r := range w.tasks {
		l, p := w.planner.lanes[r.lane], task.Position{Due: r.due, Name: k.Name}
		if l != nil && !r.running && !l.cursor.Less(p) && l.known[k.Name] == nil && !l.queue.holds(l.name.Priority) {
			w.Fatalf("%v, due %d, lies before the cursor %v of its lane, and is not known", k, r.due, l.cursor)
		}
	}
}

// verifyMarks checks that each event has marked all that it changed: if all
// lanes and queues are refreshed again, nothing changes.
func (w *world) verifyMarks() {
	places := func() (all []string) {
		for _, l := range sorted(w.planner.lanes) {
			all = append(all, fmt.Sprint(l.name, l.state, l.wakeup.Wall, l.node.inTree, l.node.rank, l.node.cost))
		}
		for _, q := range sorted(w.planner.queues) {
			all = append(all, fmt.Sprint(q.key, q.wakeup.Wall, q.wakeup.Monotonic, q.node.inTree, q.node.rank, q.node.cost, q.quarantineNode.inTree))
		}
		return all
	}
	before := places()
	for _, l := range w.planner.lanes {
		w.planner.mark(l, false)
	}
	for _, q := range w.planner.queues {
		w.planner.markQueue(q)
	}
	w.planner.refresh(w.now)
	for i, place := range places() {
		if place != before[i] {
			w.Fatalf("an event has not marked what it changed:\n%s\n%s", before[i], place)
		}
	}
}

// drain continues without edits until no task is left. All tasks must have been
// claimed at the first poll after they became due.
func (w *world) drain() {
	for k, r := range w.tasks { // no handler will run these
		if _, known := w.planner.config.Kinds[task.KindOf(r.lane.Destination)]; !known && task.KindOf(r.lane.Destination) != "" {
			delete(w.tasks, k)
		}
	}
	for range 4000 {
		if len(w.tasks) == 0 {
			return
		}
		for before := -1; before != w.claims; { // known but stale tasks hide the other tasks until they are refused
			before = w.claims
			for _, p := range w.picks {
				delete(w.tasks, p.Key)
				w.planner.Release(p, Replied, nil)
			}
			w.picks = nil
			w.poll(func() {})
			w.take(100)
			w.fire(100)
		}
		for k, r := range w.tasks {
			if t := w.planner.destinations[destinationKey{k.Namespace, r.lane.Destination}]; r.due <= w.now && (t == nil || t.waitsUntil() <= w.monotonic) {
				w.Fatalf("%v is overdue by %d ms and was not found", k, w.now-r.due)
			}
		}
		w.now += 250
		w.monotonic += 250 * time.Millisecond
		w.planner.Tick(w.monotonic)
		if due := w.earliest(); due > w.now+10_000 { // the clock has stepped back
			w.now = due - 10_000
		}
	}
	w.Fatalf("%d tasks are left", len(w.tasks))
}

func (w *world) earliest() task.Millis {
	due := task.Millis(math.MaxInt64)
	for _, r := range w.tasks {
		due = min(due, r.due)
	}
	for _, t := range w.planner.destinations { // no event may come before a wait ends
		if t.waitsUntil() > w.monotonic {
			return w.now
		}
	}
	return due
}

func TestThePlannerAgreesWithAModelThatExaminesAllLanes(t *testing.T) {
	seeds := uint64(150)
	switch {
	case testing.Short() && quick.All:
		seeds = 12
	case testing.Short():
		seeds = 9
	}
	for seed := range seeds {
		lossy := []float64{0, 0.3, 1}[seed%3]
		ok := t.Run(fmt.Sprintf("seed %d, %v lost", seed, lossy), func(t *testing.T) {
			w := newWorld(t, seed, lossy)
			for range 400 {
				w.step()
				w.verify()
			}
			w.lossy, w.failing = 1, 0 // no hint and no timer helps from here on
			clear(w.suspended)
			w.planner.Configure(w.now, nil)
			w.drain()
		})
		if !ok {
			break
		}
	}
}
