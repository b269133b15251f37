package planner

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// world is a very simple store, a planner, and a script that drives both.
// Clients create, move and cancel tasks. Hints and timers get lost, reads are
// old when they arrive, and the clock steps.
type world struct {
	*testing.T
	rnd       *rand.Rand
	now       task.Millis
	monotonic time.Duration
	planner   *Planner

	tasks     map[task.Key]*record
	lanes     []task.Lane
	queues    map[settings.SettingKey]settings.Setting
	suspended map[string]bool
	picks     []*Pick // claimed and running
	names     int
	claims    int
	freed     map[task.Key]int // how often a schedule was notified of the end of an occurrence
	lossy     float64          // the fraction of hints and timers that is lost
	failing   float64          // the fraction of reads that fail
}

type record struct {
	lane    task.Lane
	due     task.Millis
	running bool
}

func newWorld(t *testing.T, seed uint64, lossy float64) *world {
	rnd := rand.New(rand.NewPCG(seed, 1))
	w := &world{T: t, rnd: rnd, now: 1_000_000_000, tasks: map[task.Key]*record{}, freed: map[task.Key]int{}, lossy: lossy, failing: lossy / 10}
	w.queues, w.suspended = map[settings.SettingKey]settings.Setting{}, map[string]bool{}
	w.planner = New(Config{
		Window: 5 * time.Second, Tasks: 50 + rnd.IntN(500), BreakAfter: rnd.IntN(4), BreakMost: 8 * time.Second,
		Handlers: 1 + rnd.IntN(10), Kinds: map[string]int{"free": 0, "two": 2, "six": 6},
	}, 1+rnd.IntN(60))
	w.planner.pieces = 1 + rnd.IntN(40)
	for i := range rnd.IntN(3) {
		w.lanes = append(w.lanes, task.ScheduleLane(fmt.Sprint("ns", i)))
	}
	namespaces, lanes := 1+rnd.IntN(3), 1+rnd.IntN(20)
	if rnd.IntN(20) == 0 { // many of both, so that rounds have many pages
		namespaces, lanes = 1+rnd.IntN(10), 1+rnd.IntN(60)
	}
	for i := range lanes {
		lane := task.Lane{
			Namespace: fmt.Sprint("ns", i%namespaces), Queue: fmt.Sprint("q", rnd.IntN(4)),
			Priority: task.Priority(rnd.IntN(5)), Destination: fmt.Sprint("host", rnd.IntN(4)),
		}
		if rnd.IntN(3) == 0 {
			lane.Destination = task.KindDestination([]string{"free", "two", "six", "unknown"}[rnd.IntN(4)])
		}
		if !slices.Contains(w.lanes, lane) {
			w.lanes = append(w.lanes, lane)
		}
	}
	return w
}

func (w *world) chance(p float64) bool { return w.rnd.Float64() < p }

func (w *world) dueTime() task.Millis { return w.now + task.Millis(w.rnd.IntN(20_000)-5_000) }

func (w *world) hint(k task.Key, r *record) {
	if !w.chance(w.lossy) {
		w.planner.Hint(w.now, task.Entry{Name: k.Name, Lane: r.lane, Due: r.due})
	}
}

func (w *world) create() {
	lane := w.lanes[w.rnd.IntN(len(w.lanes))]
	for range 1 + w.rnd.IntN(40) {
		w.names++
		k := task.Key{Namespace: lane.Namespace, Name: fmt.Sprint("t", w.names)}
		w.tasks[k] = &record{lane: lane, due: w.dueTime()}
		w.hint(k, w.tasks[k])
	}
}

// waiting returns any task that waits, or nil if there is none.
func (w *world) waiting() (task.Key, *record) {
	keys := make([]task.Key, 0, len(w.tasks))
	for k, r := range w.tasks {
		if !r.running {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return task.Key{}, nil
	}
	slices.SortFunc(keys, func(a, b task.Key) int { // maps have no order, but seeds must repeat
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	k := keys[w.rnd.IntN(len(keys))]
	return k, w.tasks[k]
}

func (w *world) move() {
	if k, r := w.waiting(); r != nil {
		r.due = w.dueTime()
		w.hint(k, r)
	}
}

func (w *world) cancel() {
	if k, r := w.waiting(); r != nil {
		delete(w.tasks, k)
	}
}

// heads and peek do the work of Lanes and Peek.
func (w *world) heads(until task.Millis) []task.LaneHead {
	earliest := map[task.Lane]task.Millis{}
	for _, r := range w.tasks {
		if due, ok := earliest[r.lane]; !r.running && r.due <= until && (!ok || r.due < due) {
			earliest[r.lane] = r.due
		}
	}
	var heads []task.LaneHead
	for _, lane := range w.lanes {
		if due, ok := earliest[lane]; ok {
			heads = append(heads, task.LaneHead{Lane: lane, Due: due - task.Millis(w.rnd.IntN(2)*w.rnd.IntN(50))})
		}
	}
	slices.SortFunc(heads, func(a, b task.LaneHead) int { return int(a.Due - b.Due) })
	return heads
}

func (w *world) peek(r store.LaneRead) []task.Entry {
	var found []task.Entry
	for k, rec := range w.tasks {
		if rec.running || rec.due > r.Until || rec.lane != r.Lane {
			continue
		}
		if e := (task.Entry{Name: k.Name, Lane: rec.lane, Due: rec.due}); r.After.Less(e.Position()) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b task.Entry) int {
		if a.Position().Less(b.Position()) {
			return -1
		}
		return 1
	})
	return found[:min(len(found), r.Limit)]
}

// page does the work of LanePages for one page of a few lanes.
func (w *world) page(r store.LanePageRead) (p store.LanePage) {
	heads := w.heads(w.now.Add(w.planner.config.Window))
	heads = slices.DeleteFunc(heads, func(h task.LaneHead) bool { return h.Lane.Namespace != r.Namespace })
	place := func(h task.LaneHead) int { return slices.Index(w.lanes, h.Lane) + 1 } // the index stays the same while lanes come and go
	slices.SortFunc(heads, func(a, b task.LaneHead) int { return place(a) - place(b) })
	for _, h := range heads {
		if place(h) <= r.From.Left {
			continue
		}
		if p.Next.Left = place(h); len(p.Heads) == 1+w.rnd.IntN(5) {
			p.Next.Left--
			return p
		}
		p.Heads = append(p.Heads, h)
	}
	p.Last = true
	return p
}

// decide changes the settings of a queue.
func (w *world) decide() {
	lane := w.lanes[w.rnd.IntN(len(w.lanes))]
	if w.chance(0.1) {
		w.suspended[lane.Namespace] = !w.suspended[lane.Namespace]
		w.configure()
	}
	if lane.Queue == task.ScheduleQueue { // it has no settings
		return
	}
	q := &settings.QueueSettings{Namespace: lane.Namespace, Name: lane.Queue}
	if w.chance(0.4) {
		q.Rate, q.Burst = w.rnd.Float64()*100+0.1, w.rnd.IntN(20)
	}
	if w.chance(0.4) {
		q.Concurrency = 1 + w.rnd.IntN(10)
	}
	if w.chance(0.4) {
		q.PerDestination = 1 + w.rnd.IntN(5)
	}
	switch w.rnd.IntN(6) {
	case 0:
		q.Paused = true
	case 1:
		q.Paused, q.PausedUntil = true, w.now+task.Millis(w.rnd.IntN(3000))
	case 2:
		q.PurgeBefore = w.now
	}
	w.queues[q.Key()] = q
	w.configure()
}

func (w *world) configure() {
	records := slices.Collect(maps.Values(w.queues))
	for name, suspended := range w.suspended {
		records = append(records, &settings.NamespaceSettings{Name: name, Suspended: suspended})
	}
	w.planner.Configure(w.now, settings.NewSettings(records...))
}
