package dispatch

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// world is a store as simple as can be, an agenda, and a script that drives
// both: clients that create, move and cancel, hints and timers that get lost,
// reads that are old when they arrive, a clock that steps.
type world struct {
	*testing.T
	rnd    *rand.Rand
	now    task.Millis
	steady time.Duration
	a      *agenda

	tasks     map[task.Key]*record
	lanes     []task.Lane
	queues    map[task.SettingKey]task.Setting
	suspended map[string]bool
	picks     []*pick // claimed and running
	names     int
	claims    int
	freed     map[task.Key]int // schedules notified that an occurrence has ended, how often
	lossy     float64          // the part of hints and timers that is lost
	failing   float64          // the part of reads that fail
}

type record struct {
	lane    task.Lane
	due     task.Millis
	running bool
}

func newWorld(t *testing.T, seed uint64, lossy float64) *world {
	rnd := rand.New(rand.NewPCG(seed, 1))
	w := &world{T: t, rnd: rnd, now: 1_000_000_000, tasks: map[task.Key]*record{}, freed: map[task.Key]int{}, lossy: lossy, failing: lossy / 10}
	w.queues, w.suspended = map[task.SettingKey]task.Setting{}, map[string]bool{}
	w.a = newAgenda(rules{5 * time.Second, 50 + rnd.IntN(500), rnd.IntN(4), 8 * time.Second}, 1+rnd.IntN(60))
	w.a.pieces = 1 + rnd.IntN(40)
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
		w.a.hint(w.now, task.Entry{Name: k.Name, Lane: r.lane, Due: r.due})
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

// waiting returns some task that waits; nil: there is none.
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
	slices.SortFunc(keys, func(a, b task.Key) int { // maps have no order, seeds must
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

// heads and peek are Lanes and Peek.
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

func (w *world) peek(r task.LaneRead) []task.Entry {
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

// poll is what the poller does; disturb happens while its reads are under way.
func (w *world) poll(disturb func()) {
	var names []string
	for _, h := range w.heads(math.MaxInt64) {
		names = append(names, h.Lane.Namespace)
	}
	w.a.beginAllRounds(w.now, names)
	for step := 0; len(w.a.rounds) > 0; step++ {
		if step > 1000 {
			w.Fatal("the rounds never end")
		}
		pages := w.a.pages(w.now)
		shown := make([]task.LanePage, len(pages))
		for i, p := range pages {
			shown[i] = w.page(p.LanePageRead)
		}
		disturb()
		if w.chance(w.failing) {
			shown = nil
		}
		w.a.absorbPages(w.now, pages, shown)
		w.readOnce(disturb)
	}
	w.reads(disturb)
}

// page is LanePages for one page, of a few lanes.
func (w *world) page(r task.LanePageRead) (p task.LanePage) {
	heads := w.heads(w.now.Add(w.a.window))
	heads = slices.DeleteFunc(heads, func(h task.LaneHead) bool { return h.Lane.Namespace != r.Namespace })
	place := func(h task.LaneHead) int { return slices.Index(w.lanes, h.Lane) + 1 } // which stays while lanes come and go
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

// beginAllRounds begins the round of each namespace, whenever the last one was.
func (a *agenda) beginAllRounds(now task.Millis, names []string) {
	for _, t := range a.spaces {
		t.round.next = 0
	}
	a.beginRounds(now, names)
}

// check makes whole rounds, in which the store names no lanes.
func (a *agenda) check(now task.Millis) {
	for a.beginAllRounds(now, nil); len(a.rounds) > 0; {
		a.absorbPages(now, a.pages(now), nil)
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

// readOnce carries out one plan, and reports whether that was anything.
func (w *world) readOnce(disturb func()) bool {
	reads := w.a.plan(w.now)
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
	w.a.absorb(w.now, reads, found)
	return true
}

// pass lets time pass, and bells ring, or not.
func (w *world) pass(ms int) {
	w.now += task.Millis(ms)
	w.steady += time.Duration(ms)*time.Millisecond + time.Duration(w.rnd.IntN(1000))
	w.a.tick(w.steady)
	ring := func(b *bell) {
		due := b.wall != 0 && b.wall <= w.now || b.steady != 0 && b.steady <= w.steady
		if due && !w.chance(w.lossy) {
			w.a.ring(b, w.now)
		}
	}
	for _, name := range w.lanes { // in order: seeds must repeat
		if l := w.a.lanes[name]; l != nil {
			ring(&l.bell)
		}
	}
	for _, q := range sorted(w.a.queues) {
		ring(&q.bell)
	}
	for _, t := range sorted(w.a.targets) {
		ring(&t.bell)
	}
}

// sorted returns the values of a map in the order of what they are named by.
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

// decide changes what was decided of a queue.
func (w *world) decide() {
	lane := w.lanes[w.rnd.IntN(len(w.lanes))]
	if w.chance(0.1) {
		w.suspended[lane.Namespace] = !w.suspended[lane.Namespace]
		w.configure()
	}
	if lane.Queue == task.ScheduleQueue { // of which nothing can be decided
		return
	}
	q := &task.QueueSettings{Namespace: lane.Namespace, Name: lane.Queue}
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
	settings := slices.Collect(maps.Values(w.queues))
	for name, suspended := range w.suspended {
		settings = append(settings, &task.NamespaceSettings{Name: name, Suspended: suspended})
	}
	w.a.configure(w.now, task.NewSettings(settings...))
}

// take claims what the agenda picks, one at a time, so that each choice can be
// compared with that of a judge who looks at everything.
func (w *world) take(n int) {
	for range n {
		best := w.judge()
		picks := w.a.take(w.now, 1)
		if len(picks) == 0 {
			if best != nil {
				w.Fatalf("nothing was picked, and %v may run", best.name)
			}
			return
		}
		if p := picks[0]; p.lane != best {
			w.Fatalf("picked from %v, the judge has %v of need %v, left %v", p.lane.name, best.name, best.seat.need, w.a.slots.left())
		}
		w.claim(&picks[0])
	}
}

// fire fires what the agenda names: due, or freed. A schedule goes on with another due
// time, of which it is told by a hint and by the reply, or ends.
func (w *world) fire(n int) {
	fires := w.a.takeFires(w.now, n)
	if len(fires) > n || w.lossy == 0 && len(fires) == 0 && w.dueSchedule() {
		w.Fatalf("%d schedules are fired, of %d at most", len(fires), n)
	}
	w.claims += len(fires)
	for _, f := range fires {
		if r := w.tasks[f.Key]; w.freed[f.Key] > 0 {
			w.freed[f.Key]--
		} else if w.lossy == 0 && r != nil && r.due > w.now {
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
		w.a.fireAnswered(f.Key)
		if !gone && !w.chance(w.failing) {
			w.a.offer(w.now, task.Entry{Name: f.Key.Name, Lane: r.lane, Due: r.due})
		}
	}
}

// dueSchedule reports whether the agenda knows of one.
func (w *world) dueSchedule() bool {
	return slices.ContainsFunc(w.lanes, func(name task.Lane) bool {
		l := w.a.lanes[name]
		return l != nil && l.schedules() && l.state != waiting && l.earliest() <= w.now
	})
}

// end tells that an occurrence of a schedule has ended.
func (w *world) end() {
	if k, r := w.waiting(); r != nil && r.lane.Queue == task.ScheduleQueue && !w.chance(w.lossy) {
		w.freed[k]++
		w.a.hint(w.now, task.Entry{Name: k.Name, Lane: r.lane})
	}
}

func (w *world) claim(p *pick) {
	w.claims++
	w.a.answered(p.key())
	r := w.tasks[p.key()]
	switch {
	case r == nil, r.running, r.due > w.now:
		if r != nil && !r.running && w.lossy == 0 {
			w.Fatalf("%v was claimed %d ms early", p.key(), r.due-w.now)
		}
		w.a.release(p, w.now, nothing)
		return
	}
	for k, other := range w.tasks { // in order, unless hints were lost
		if w.lossy == 0 && other.lane == r.lane && !other.running && other.due < r.due {
			w.Fatalf("%v, due %d, was claimed before %v, due %d", p.key(), r.due, k, other.due)
		}
	}
	r.running = true
	w.a.begin(p)
	w.picks = append(w.picks, p)
}

func (w *world) settle() {
	if len(w.picks) == 0 {
		return
	}
	i := w.rnd.IntN(len(w.picks))
	p := w.picks[i]
	w.picks = slices.Delete(w.picks, i, i+1)
	w.a.release(p, w.now, evidence(w.rnd.IntN(6)))
	r := w.tasks[p.key()]
	if w.chance(0.7) {
		delete(w.tasks, p.key())
		return
	}
	r.running, r.due = false, w.now+task.Millis(w.rnd.IntN(10_000))
	w.hint(p.key(), r)
	w.a.offer(w.now, task.Entry{Name: p.name, Lane: r.lane, Due: r.due})
}

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
	for len(w.a.chores) > 0 { // as the shell does, this step and the next ones
		w.a.work(w.now)
	}
	if w.a.unread && w.lossy == 0 {
		w.a.unread = false
		w.poll(func() {})
	}
}

// meanwhile returns what happens while reads are under way. Where no hint is lost it is
// creates alone: what is moved or claimed then may be known for a while by what it was.
func (w *world) meanwhile(edit func()) func() {
	if w.lossy == 0 {
		return w.create
	}
	return edit
}

func (w *world) disturb() {
	switch {
	case w.chance(0.3) && len(w.picks) > 0:
		w.a.slow(w.picks[0].lane, w.a.steady, w.now, time.Duration(w.rnd.IntN(5000))*time.Millisecond)
	case w.chance(0.3) && len(w.picks) > 0:
		w.a.rest(w.picks[0].lane, w.now, unsentPause)
	case w.lossy > 0 && w.chance(0.3):
		w.a.check(w.now) // it steps once between two polls
		w.now += task.Millis(w.rnd.IntN(7_200_000) - 3_600_000)
		w.a.check(w.now)
	}
}

// verify checks what must always hold.
func (w *world) verify() {
	if n := w.count(inQuarantine); n > 1 || w.a.gate.taken != (n == 1) {
		w.Fatalf("of quarantine %d attempts are under way, and the gate is taken: %v", n, w.a.gate.taken)
	}
	total, running := 0, 0
	for _, l := range w.a.lanes {
		total += l.order.len()
		running += l.running
		if len(l.known) != l.order.len() {
			w.Fatalf("%v knows %d and has %d in order", l.name, len(l.known), l.order.len())
		}
		stands := l.seat.seated
		if l.schedules() {
			stands = l.firing && l.state == ready // until it is looked at, one that is not ready any more may stand there, too
		}
		if (l.state == ready) != stands || l.firing != slices.Contains(w.a.firing, l) || l.bell.wall != 0 && l.state != waiting {
			w.Fatalf("%v is in state %d", l.name, l.state)
		}
	}
	for _, l := range w.a.firing {
		if w.a.lanes[l.name] != l {
			w.Fatalf("%v is to be fired, and was dropped", l.name)
		}
	}
	if w.lossy == 0 {
		w.verifyKnown()
	}
	if total != w.a.total || running+w.a.slots.free != w.a.slots.all || running != len(w.picks) || w.a.slots.free < 0 {
		w.Fatalf("total %d of %d, running %d of %d, free %d", w.a.total, total, running, len(w.picks), w.a.slots.free)
	}
	if limit := w.a.tasks + reserve*len(w.a.lanes) + peekChunk; total > limit {
		w.Fatalf("%d tasks are known, want at most %d", total, limit)
	}
}

// verifyKnown checks that no hint was lost, and none came in vain.
func (w *world) verifyKnown() {
	for k, r := range w.tasks {
		l, p := w.a.lanes[r.lane], task.Position{Due: r.due, Name: k.Name}
		if l != nil && !r.running && !l.cursor.Less(p) && l.known[k.Name] == nil && !l.queue.holds(l.name.Priority) {
			w.Fatalf("%v, due %d, lies before the cursor %v of its lane, and is not known", k, r.due, l.cursor)
		}
	}
}

// drain plays on without any edits until nothing is left. All must have been
// claimed at the first poll after they became due.
func (w *world) drain() {
	for range 4000 {
		if len(w.tasks) == 0 {
			return
		}
		for before := -1; before != w.claims; { // what is known and stale hides the rest until it is refused
			before = w.claims
			for _, p := range w.picks {
				delete(w.tasks, p.key())
				w.a.release(p, w.now, replied)
			}
			w.picks = nil
			w.poll(func() {})
			w.take(100)
			w.fire(100)
		}
		for k, r := range w.tasks {
			if t := w.a.targets[targetKey{k.Namespace, r.lane.Destination}]; r.due <= w.now && (t == nil || t.closedUntil() <= w.steady) {
				w.Fatalf("%v is overdue by %d ms and was not found", k, w.now-r.due)
			}
		}
		w.now += 250
		w.steady += 250 * time.Millisecond
		w.a.tick(w.steady)
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
	for _, t := range w.a.targets { // nothing may happen before a wait ends
		if t.closedUntil() > w.steady {
			return w.now
		}
	}
	return due
}

func TestTheAgendaAgreesWithAJudgeWhoLooksAtEverything(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 24
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
			w.a.configure(w.now, nil)
			w.drain()
		})
		if !ok {
			break
		}
	}
}
