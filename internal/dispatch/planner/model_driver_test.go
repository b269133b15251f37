package planner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// poll does the work of the poller. disturb is called while its reads are under
// way.
func (w *world) poll(disturb func()) {
	var names []string
	for _, h := range w.heads(math.MaxInt64) {
		names = append(names, h.Lane.Namespace)
	}
	w.planner.beginAllRounds(w.now, names)
	for step := 0; len(w.planner.rounds) > 0; step++ {
		if step > 1000 {
			w.Fatal("the rounds never end")
		}
		pages := w.planner.Pages(w.now)
		shown := make([]store.LanePage, len(pages))
		for i, p := range pages {
			shown[i] = w.page(p.LanePageRead)
		}
		disturb()
		if w.chance(w.failing) {
			shown = nil
		}
		w.planner.AbsorbPages(w.now, pages, shown)
		w.readOnce(disturb)
	}
	w.reads(disturb)
}

// beginAllRounds begins the round of each namespace, whenever the last round
// was.
func (pl *Planner) beginAllRounds(now task.Millis, names []string) {
	for _, t := range pl.namespaces {
		t.round.next = 0
	}
	pl.BeginRounds(now, names)
}

// check makes whole rounds in which the store names no lanes.
func (pl *Planner) check(now task.Millis) {
	for pl.beginAllRounds(now, nil); len(pl.rounds) > 0; {
		pl.AbsorbPages(now, pl.Pages(now), nil)
	}
}

func (w *world) reads(disturb func()) {
	for range 1000 {
		if !w.readOnce(disturb) {
			return
		}
	}
	w.Fatal("the reads never end")
}

// readOnce does one step of reads, and reports whether there was any.
func (w *world) readOnce(disturb func()) bool {
	reads := w.planner.Reads(w.now)
	if len(reads) == 0 {
		return false
	}
	found := make([][]task.Entry, len(reads))
	for i, r := range reads {
		found[i] = w.peek(r.LaneRead)
	}
	disturb()
	if w.chance(w.failing) {
		found = nil // the read failed
	}
	w.planner.AbsorbReads(w.now, reads, found)
	return true
}

// pass lets time pass. Timers fire or get lost.
func (w *world) pass(ms int) {
	w.now += task.Millis(ms)
	w.monotonic += time.Duration(ms)*time.Millisecond + time.Duration(w.rnd.IntN(1000))
	w.planner.Tick(w.monotonic)
	wake := func(b *Wakeup) {
		due := b.Wall != 0 && b.Wall <= w.now || b.Monotonic != 0 && b.Monotonic <= w.monotonic
		if due && !w.chance(w.lossy) {
			w.planner.Wake(b, w.now)
		}
	}
	for _, name := range w.lanes { // in order: seeds must repeat
		if l := w.planner.lanes[name]; l != nil {
			wake(&l.wakeup)
		}
	}
	for _, q := range sorted(w.planner.queues) {
		wake(&q.wakeup)
	}
	for _, t := range sorted(w.planner.destinations) {
		wake(&t.wakeup)
	}
}

// sorted returns the values of a map in the order of their keys.
func sorted[K comparable, V any](m map[K]V) []V {
	names, byName := make([]string, 0, len(m)), map[string]V{}
	for k, v := range m {
		name := fmt.Sprint(k)
		names, byName[name] = append(names, name), v
	}
	slices.Sort(names)
	values := make([]V, len(names))
	for i, name := range names {
		values[i] = byName[name]
	}
	return values
}

// work does all updates that are left, as the Dispatcher does step by step.
func (w *world) work() {
	for len(w.planner.updates) > 0 {
		w.planner.Work(w.now)
	}
}

// take claims the planner's picks one at a time, so that each choice can be
// compared with that of the judge, who looks at all lanes.
func (w *world) take(n int) {
	for range n {
		w.work()
		best := w.judge()
		picks := w.planner.Take(w.now, 1)
		if len(picks) == 0 {
			if best != nil {
				w.Fatalf("nothing was picked, and %v may run", best.name)
			}
			return
		}
		if p := picks[0]; p.lane != best {
			w.Fatalf("picked from %+v, the judge has %+v, left %v", p.lane.name, best, w.planner.slots.left())
		}
		w.claim(&picks[0])
	}
}

// fire fires the schedules that the planner names: due ones, and freed ones. A
// schedule ends, or gets another due time, which a hint and the reply report.
func (w *world) fire(n int) {
	fires := w.planner.TakeFires(w.now, n)
	if len(fires) > n || w.lossy == 0 && len(fires) == 0 && w.dueSchedule() {
		w.Fatalf("%d schedules are fired, of %d at most", len(fires), n)
	}
	w.claims += len(fires)
	for _, f := range fires {
		switch r := w.tasks[f.Key]; {
		case r != nil && r.due <= w.now: // a notice can lead to another fire
		case w.freed[f.Key] > 0:
			w.freed[f.Key]--
		case w.lossy == 0 && r != nil:
			w.Fatalf("%v was fired %d ms early", f.Key, r.due-w.now)
		}
	}
	for _, f := range fires {
		r := w.tasks[f.Key]
		gone := r == nil || r.due > w.now
		switch {
		case gone:
		case w.lossy == 0 || w.chance(0.5):
			r.due = w.now + task.Millis(1+w.rnd.IntN(10_000))
			w.hint(f.Key, r)
		default:
			delete(w.tasks, f.Key)
			gone = true
		}
		w.planner.FireAnswered(f.Key)
		if !gone && !w.chance(w.failing) {
			w.planner.Offer(w.now, task.Entry{Name: f.Key.Name, Lane: r.lane, Due: r.due})
		}
	}
}

// dueSchedule reports whether the planner knows a due schedule.
func (w *world) dueSchedule() bool {
	return slices.ContainsFunc(w.lanes, func(name task.Lane) bool {
		l := w.planner.lanes[name]
		return l != nil && l.schedules() && l.state != waiting && l.earliest() <= w.now
	})
}

// end reports that an occurrence of a schedule has ended.
func (w *world) end() {
	if k, r := w.waiting(); r != nil && r.lane.Queue == task.ScheduleQueue && !w.chance(w.lossy) {
		w.freed[k]++
		w.planner.Hint(w.now, task.Entry{Name: k.Name, Lane: r.lane, Hint: task.OccurrenceEnded})
	}
}

func (w *world) claim(p *Pick) {
	w.claims++
	w.planner.Answered(p.Key)
	r := w.tasks[p.Key]
	switch {
	case r == nil, r.running, r.due > w.now:
		if r != nil && !r.running && w.lossy == 0 {
			w.Fatalf("%v was claimed %d ms early", p.Key, r.due-w.now)
		}
		w.planner.Release(p, w.now, Nothing, nil)
		return
	}
	for k, other := range w.tasks { // in order, unless hints were lost
		if w.lossy == 0 && other.lane == r.lane && !other.running && other.due < r.due {
			w.Fatalf("%v, due %d, was claimed before %v, due %d", p.Key, r.due, k, other.due)
		}
	}
	r.running = true
	w.planner.Begin(p)
	w.picks = append(w.picks, p)
}

func (w *world) settle() {
	if len(w.picks) == 0 {
		return
	}
	i := w.rnd.IntN(len(w.picks))
	p := w.picks[i]
	w.picks = slices.Delete(w.picks, i, i+1)
	w.planner.Release(p, w.now, Evidence(w.rnd.IntN(6)), nil)
	r := w.tasks[p.Key]
	if w.chance(0.7) {
		delete(w.tasks, p.Key)
		return
	}
	r.running, r.due = false, w.now+task.Millis(w.rnd.IntN(10_000))
	w.hint(p.Key, r)
	w.planner.Offer(w.now, task.Entry{Name: p.Key.Name, Lane: r.lane, Due: r.due})
}
