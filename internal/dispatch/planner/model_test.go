package planner

import (
	"fmt"
	"maps"
	"math"
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
	survey    bool // effects.Survey, not done yet

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
		Handlers: 1 + rnd.IntN(10), Kinds: map[string]int{"free": 0, "two": 2, "six": 6}, Slots: 1 + rnd.IntN(60),
	})
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

// poll does the work of the poller. disturb is called while its reads are under
// way.
func (w *world) poll(disturb func()) {
	var names []string
	for _, h := range w.heads(math.MaxInt64) {
		names = append(names, h.Lane.Namespace)
	}
	w.planner.beginAllRounds(w.now, names)
	for step := 0; len(w.planner.window.rounds) > 0; step++ {
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
	for pl.beginAllRounds(now, nil); len(pl.window.rounds) > 0; {
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
	for more := true; more; more = len(w.planner.updates) > 0 {
		w.survey = w.planner.Refresh(w.now).Survey || w.survey
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
			w.Fatalf("picked from %+v, the judge has %+v, left %v", p.lane.name, best, w.planner.choose.slots.left())
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
		w.planner.Answered(f.Key)
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
		w.planner.Release(p, Nothing, nil)
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
	w.planner.Release(p, Evidence(w.rnd.IntN(6)), nil)
	r := w.tasks[p.Key]
	if w.chance(0.7) {
		delete(w.tasks, p.Key)
		return
	}
	r.running, r.due = false, w.now+task.Millis(w.rnd.IntN(10_000))
	w.hint(p.Key, r)
	w.planner.Offer(w.now, task.Entry{Name: p.Key.Name, Lane: r.lane, Due: r.due})
}
